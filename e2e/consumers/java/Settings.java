import java.util.List;
import java.util.Map;

/** What the environment says, and what is fixed. */
final class Settings {
    // [settings] From the environment. Secrets travel over https, or within this machine.
    static final String ORIGIN = "https://[\\w.-]+(:\\d+)?|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:\\d+)?";
    static final String AN_ORIGIN = "an address such as https://signin.example (http only within this machine), without a path";
    static final String BROKER = setting("SIGNIN_BASE_URL", AN_ORIGIN, "", ORIGIN);
    static final String HERE = setting("CONSUMER_BASE_URL", AN_ORIGIN, "http://localhost:5000", ORIGIN);
    static final Map<String, String> PROJECT = Map.of(
        "client_id", setting("SIGNIN_CLIENT_ID", "the project's client_id", "", ".+"),
        "client_secret", setting("SIGNIN_CLIENT_SECRET", "the project's client_secret", "", ".+"));
    static final int PORT = Integer.parseInt(setting("PORT", "a number", "5000", "\\d{1,5}"));
    static final int MAX_SESSIONS = Integer.parseInt(setting("MAX_SESSIONS", "a number", "10000", "[1-9]\\d{0,6}"));
    static final int CALL_SECONDS = Integer.parseInt(setting("CALL_SECONDS", "a number", "5", "[1-9]\\d?")); // all of a request
    static final String DATABASE = setting("SESSIONS_DB", "a file",
        System.getProperty("java.io.tmpdir") + "/java-consumer-" + PORT + ".db", ".+");
    static final String CLOCK = System.getenv("KIT_CLOCK_URL"); // the clock of tests
    static final boolean IS_SECURE = HERE.startsWith("https:");
    static final int LOGIN_SECONDS = 600, SESSION_SECONDS = 8 * 3600, LOOKS = 5;
    static final List<String> FAILURES = List.of("access_denied", "invalid_provider_response", "provider_unavailable");

    static String setting(String name, String kind, String initial, String pattern) {
        String value = System.getenv(name) == null || System.getenv(name).isEmpty() ? initial : System.getenv(name);
        if (!value.matches(pattern)) {
            System.err.println(name + " is " + (value.isEmpty() ? "missing: set it to " : "not ") + kind + ".");
            System.exit(2);
        }
        return value;
    }
    // [/]
}
