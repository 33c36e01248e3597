import java.util.Map;

/** The one page. Whatever came from elsewhere is escaped by `text`. */
final class Page {
    // [problems] By their addresses: the status and the words.
    private record Problem(int status, String words) {}

    private static final Problem UNKNOWN = new Problem(404, "404 Not Found");
    private static final Map<String, Problem> PROBLEMS = Map.of(
        "/problem/access_denied", new Problem(200, "You cancelled the sign-in. Nothing was shared with us."),
        "/problem/invalid_provider_response", new Problem(200, "The provider's answer did not prove who you are."),
        "/problem/provider_unavailable", new Problem(200, "The provider did not answer. Try again in a moment."),
        "/problem/pending", new Problem(200, "The sign-in is not finished. Perhaps it is open in another tab."),
        "/problem/nothing", new Problem(400, "No sign-in is under way here. Finish it in the browser in which you start it."),
        "/problem/refused", new Problem(400, "The sign-in took too long, was finished before, or began in another browser."),
        "/problem/lost", new Problem(400,
            "The sign-in service did not answer as it should. You were not signed in. Please start again."));

    static int status(String path) {
        return PROBLEMS.getOrDefault(path, UNKNOWN).status;
    }

    static String problem(String path) {
        return PROBLEMS.getOrDefault(path, UNKNOWN).words;
    }

    // [page]
    static String text(Object value) {
        return String.valueOf(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            .replace("\"", "&quot;").replace("'", "&#39;");
    }
    // [/]

    static String of(String problem, Session.User user) {
        var page = new StringBuilder("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Reference consumer</title>\n");
        if (problem != null) {
            page.append("<h1>" + text(problem) + "</h1>\n");
        }
        if (PROBLEMS.get("/problem/pending").words.equals(problem)) {
            page.append("<form action=\"/callback\"><button>Look again</button></form>\n");
        }
        page.append(user == null ? "<p>You are signed out.</p>\n" : ofUser(problem, user));
        if (user != null && problem == null) {
            page.append(details(user.profile(), user));
        }
        page.append("<h2>" + (user == null ? "Sign in" : "Sign in as another user") + "</h2>\n");
        return page + button("/login/google", "Sign in with Google") + button("/login/github", "Sign in with GitHub")
            + button("/legacy/login/google", "Sign in with Google, legacy flow")
            + button("/legacy/login/github", "Sign in with GitHub, legacy flow");
    }

    private static String ofUser(String problem, Session.User user) {
        Object name = or(user.profile().get("name"), or(user.profile().get("username"), "account " + user.number()));
        return "<p>" + (problem == null ? "Signed in" : "You are still signed in") + " as <bdi>" + text(name) + "</bdi>.</p>\n"
            + button("/logout", "Sign out");
    }

    private static String details(Map<?, ?> profile, Session.User user) {
        boolean isVerified = Boolean.TRUE.equals(profile.get("emailVerified"));
        return """
            <dl>
              <dt>Name<dd><bdi>%s</bdi>
              <dt>Username<dd><bdi>%s</bdi>
              <dt>E-mail<dd><bdi>%s</bdi>%s
              <dt>Provider<dd>%s
              <dt>Subject<dd>%s
              <dt>Account number<dd>%d
              <dt>Sign-ins<dd>%d
            </dl>
            <form method="post" action="/note">
              <label>Note <input name="note" maxlength="1000" value="%s"></label> <button>Save</button>
            </form>
            """.formatted(text(or(profile.get("name"), "none")), text(or(profile.get("username"), "none")),
            text(or(profile.get("email"), "none")),
            profile.get("email") == null ? "" : isVerified ? ", verified" : ", not verified",
            text(profile.get("provider")), text(profile.get("subject")), user.number(), user.signIns(), text(user.note()));
    }

    private static Object or(Object value, Object other) {
        return value == null ? other : value;
    }

    private static String button(String action, String label) {
        return "<form method=\"post\" action=\"" + action + "\"><button>" + label + "</button></form>\n";
    }
}
