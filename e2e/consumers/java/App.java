import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * A reference consumer of the Federated Sign-In Service, on the JDK's own server: both flows, both
 * providers. An instance is one request, on the way to its answer.
 */
final class App {
    private final HttpExchange exchange;
    private final String path;
    private final Broker broker = new Broker(Settings.CALL_SECONDS);
    private Session session = Session.NONE;

    App(HttpExchange exchange) {
        this.exchange = exchange;
        this.path = exchange.getRequestURI().getRawPath();
    }

    // [start] The clean flow: the callback carries nothing; the result is read with a key that stays here.
    void startClean(String provider) throws Exception {
        String key = Session.secret(); // fresh for each login
        var fields = with(Settings.PROJECT, "session_key", key, "provider", provider, "redirect_uri", Settings.HERE + "/callback");
        String address = Broker.checkStart(broker.call("POST", "/v1/login/session", fields, null));
        renew(new Session.Login("clean", "", key, provider, Settings.LOOKS, session.now() + Settings.LOGIN_SECONDS));
        redirect(address);
    }

    // [callback]
    void finishClean() throws Exception {
        var login = session.take("clean", "");
        if (login == null && session.user() != null) {
            redirect("/");
            return;
        }
        Broker.check(login != null, "nothing");
        var fields = with(Settings.PROJECT, "session_key", login.secret(), "redirect_uri", Settings.HERE + "/callback");
        var result = broker.call("POST", "/v1/login/result", fields, null);
        switch (String.valueOf(result.get("status"))) {
            case "succeeded" -> signIn(result.get("profile"), login.provider());
            case "failed" -> throw new Broker.Problem(
                result.get("error") instanceof String error && Settings.FAILURES.contains(error) ? error : "lost");
            case "pending" -> { // not consumed: the user may look again, a few times
                Broker.check(login.looks() > 1, "refused");
                session.keep(new Session.Login("clean", "", login.secret(), login.provider(), login.looks() - 1, login.ends()));
                throw new Broker.Problem("pending");
            }
            default -> throw new Broker.Problem("lost");
        }
    }

    // [start_legacy] The legacy flow: state and code come back through the browser, the verifier stays here.
    void startLegacy(String provider) throws Exception {
        String state = Session.secret(), verifier = Session.secret();
        renew(new Session.Login("legacy", state, verifier, provider, 1, session.now() + Settings.LOGIN_SECONDS));
        redirect(Settings.BROKER + "/authorize?client_id=" + URLEncoder.encode(Settings.PROJECT.get("client_id"), UTF_8)
            + "&redirect_uri=" + URLEncoder.encode(Settings.HERE + "/legacy/callback", UTF_8) + "&provider=" + provider
            + "&state=" + state + "&code_challenge=" + Session.digest(verifier) + "&code_challenge_method=S256");
    }

    // [callback_legacy] It ends in a redirect, always: no page has the code in its address.
    void finishLegacy() throws Exception {
        var query = parameters(exchange.getRequestURI().getRawQuery());
        List<String> state = query.getOrDefault("state", List.of());
        List<String> code = query.getOrDefault("code", List.of());
        List<String> error = query.getOrDefault("error", List.of());
        Broker.check(state.size() == 1, "refused");
        // Consumed before anything else is looked at: by success and by failure, once.
        var login = session.take("legacy", state.get(0));
        Broker.check(login != null, "refused");
        if (code.isEmpty() && error.size() == 1 && Settings.FAILURES.contains(error.get(0))) {
            throw new Broker.Problem(error.get(0));
        }
        Broker.check(error.isEmpty() && code.size() == 1 && code.get(0).matches(".{1,200}"), "refused");
        var fields = with(Settings.PROJECT, "grant_type", "authorization_code", "code", code.get(0),
            "code_verifier", login.secret(), "redirect_uri", Settings.HERE + "/legacy/callback");
        String token = Broker.checkToken(broker.call("POST", "/v1/token", fields, null));
        Object profile;
        try {
            profile = broker.call("GET", "/v1/profile", null, token);
        } finally { // it has had its one use; should this fail, it ends by itself
            broker.revoke(token);
        }
        signIn(profile, login.provider());
    }

    // [sign_in]
    void signIn(Object answer, String provider) throws Exception {
        var profile = Broker.checkProfile(answer, provider);
        var id = session.signIn((String) profile.get("subject"), Json.write(profile));
        Broker.check(id != null, "nothing"); // the user has signed out in another tab meanwhile
        setCookie(id);
        redirect("/");
    }

    // [sign_out]
    void signOut() throws Exception {
        session.end(); // on the server: a copy of the cookie is worth nothing
        setCookie(new Session.Cookie("", session.now()));
        redirect("/");
    }

    void setCookie(Session.Cookie cookie) {
        exchange.getResponseHeaders().set("Set-Cookie", cookie.header(session.now()));
    }

    void renew(Session.Login login) throws Exception {
        setCookie(session.renew(login));
    }

    // [show]
    void show(int status, String problem, Session.User user) throws IOException {
        byte[] page = Page.of(problem, user).getBytes(UTF_8);
        boolean isHead = exchange.getRequestMethod().equals("HEAD");
        exchange.getResponseHeaders().set("Content-Type", "text/html; charset=utf-8");
        exchange.sendResponseHeaders(status, isHead ? -1 : page.length);
        if (!isHead) {
            exchange.getResponseBody().write(page);
        }
    }

    void redirect(String address) throws IOException {
        exchange.getResponseHeaders().set("Location", address);
        exchange.sendResponseHeaders(303, -1);
    }

    void saveNote() throws Exception {
        String body = new String(exchange.getRequestBody().readNBytes(16 * 1024), UTF_8);
        session.saveNote(parameters(body).getOrDefault("note", List.of("")).get(0));
        redirect("/");
    }

    // [guard] Any page can send a form here, but a browser says from where. HEAD and a prefetch read nothing.
    boolean isRefused() throws Exception {
        var headers = exchange.getRequestHeaders();
        boolean isOurs = headers.getOrDefault("Origin", List.of(Settings.HERE)).equals(List.of(Settings.HERE))
            && List.of("same-origin", "none").containsAll(headers.getOrDefault("Sec-Fetch-Site", List.of()));
        boolean isPrefetch = String.valueOf(headers.getFirst("Sec-Purpose")).toLowerCase().contains("prefetch");
        if (exchange.getRequestMethod().equals("POST") && !isOurs) {
            show(403, "403 Forbidden", session.user());
            return true;
        }
        boolean isUnread = path.endsWith("/callback") && (isPrefetch || exchange.getRequestMethod().equals("HEAD"));
        if (isUnread) {
            exchange.sendResponseHeaders(isPrefetch ? 503 : 200, -1);
        }
        return isUnread;
    }

    // [headers] No `form-action`: browsers apply it to the redirects after a form, up to the provider. No
    // `no-referrer`: the broker checks that a login begins on a page of ours.
    void addHeaders() {
        var headers = exchange.getResponseHeaders();
        headers.set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'");
        headers.set("Referrer-Policy", "strict-origin-when-cross-origin");
        headers.set("X-Content-Type-Options", "nosniff");
        headers.set("Cache-Control", "no-store");
    }

    // [error_page]
    void serve() throws IOException {
        try {
            addHeaders();
            session = Session.of(exchange.getRequestHeaders().getOrDefault("Cookie", List.of()), broker.now());
            if (!isRefused()) {
                route();
            }
        } catch (Broker.Problem problem) {
            redirect("/problem/" + problem.getMessage());
        } catch (Exception error) {
            System.err.println("A request ended by a " + error.getClass().getName()); // its own text may quote a secret
            show(500, "500 Internal Server Error", null);
        } finally {
            exchange.close();
        }
    }

    // [server]
    void route() throws Exception {
        String provider = path.substring(path.lastIndexOf('/') + 1);
        switch (exchange.getRequestMethod() + " " + path) {
            case "POST /login/google", "POST /login/github" -> startClean(provider);
            case "GET /callback" -> finishClean();
            case "POST /legacy/login/google", "POST /legacy/login/github" -> startLegacy(provider);
            case "GET /legacy/callback" -> finishLegacy();
            case "POST /logout" -> signOut();
            case "POST /note" -> saveNote();
            case "GET /", "HEAD /" -> show(200, null, session.user());
            default -> show(Page.status(path), Page.problem(path), session.user());
        }
    }

    static Map<String, List<String>> parameters(String text) {
        var found = new HashMap<String, List<String>>();
        try {
            for (String pair : (text == null ? "" : text).split("&")) {
                String[] parts = pair.split("=", 2);
                String value = parts.length < 2 ? "" : URLDecoder.decode(parts[1], UTF_8);
                found.computeIfAbsent(URLDecoder.decode(parts[0], UTF_8), it -> new ArrayList<>()).add(value);
            }
        } catch (IllegalArgumentException error) {
            throw new Broker.Problem("refused");
        }
        return found;
    }

    static Map<String, String> with(Map<String, String> fields, String... more) {
        var all = new HashMap<>(fields);
        for (int it = 0; it < more.length; it += 2) {
            all.put(more[it], more[it + 1]);
        }
        return all;
    }

    public static void main(String[] arguments) throws Exception {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        var threads = Executors.newFixedThreadPool(128);
        Session.of(List.of(), 0); // the database is there before anything listens
        for (var address : InetAddress.getAllByName("localhost")) { // it may mean either
            var server = HttpServer.create(new InetSocketAddress(address, Settings.PORT), 0);
            server.createContext("/", exchange -> new App(exchange).serve());
            server.setExecutor(threads);
            server.start();
        }
    }
}
