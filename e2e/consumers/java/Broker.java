import java.io.ByteArrayInputStream;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

import static java.nio.charset.StandardCharsets.UTF_8;

/** The calls of one request to the broker: each is sent once, within their time, and its answer is checked. */
final class Broker {
    private static final int MAX_ANSWER_BYTES = 64 * 1024;
    private static final ExecutorService THREADS = Executors.newCachedThreadPool();
    private static final HttpClient CLIENT = client();
    private final long deadline;

    Broker(int seconds) {
        deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    }

    /** Ends a request with the page of this name. */
    @SuppressWarnings("serial")
    static final class Problem extends RuntimeException {
        Problem(String name) {
            super(name, null, false, false);
        }
    }

    static void check(boolean isSo, String problem) {
        if (!isSo) {
            throw new Problem(problem);
        }
    }

    private record Answer(int status, Object json) {}

    // [call] The JSON of a successful answer. The problem is "refused", or "lost" when it is unknown what the
    // broker did: then nothing is sent again, and the user starts again.
    Map<?, ?> call(String method, String path, Map<String, String> body, String token) {
        Answer answer;
        try {
            answer = send(method, Settings.BROKER + path, body, token);
        } catch (Exception error) { // its own text may quote a secret
            System.err.println("No answer of " + path + ": " + error.getClass().getName());
            throw new Problem("lost");
        }
        check(answer.json instanceof Map, "lost");
        var members = (Map<?, ?>) answer.json;
        check(answer.status < 400 || answer.status > 499 || !(members.get("error") instanceof String), "refused");
        check(answer.status == 200, "lost"); // a proxy in between answers by itself, too
        return members;
    }

    // [revoke] Should this fail, the token ends by itself.
    void revoke(String token) {
        try {
            call("POST", "/v1/revoke", null, token);
        } catch (Problem ignored) {
        }
    }

    // [check_start] The address is of the broker's origin, without query, fragment or credentials: users are
    // sent nowhere else.
    static String checkStart(Map<?, ?> answer) {
        check(answer.get("authorization_url") instanceof String address
            && address.matches(Pattern.quote(Settings.BROKER) + "/[\\w./~%-]{1,1900}"), "lost");
        check(Double.valueOf(600).equals(answer.get("expires_in")), "lost");
        return (String) answer.get("authorization_url");
    }

    // [check_token]
    static String checkToken(Map<?, ?> answer) {
        check(answer.get("access_token") instanceof String token && token.matches("[\\w-]+_[\\w-]{43}"), "lost");
        check("Bearer".equals(answer.get("token_type")) && "profile".equals(answer.get("scope")), "lost");
        check(Double.valueOf(900).equals(answer.get("expires_in")), "lost");
        return (String) answer.get("access_token");
    }

    // [check_profile] Names and addresses may be null, but are there; the rest is never null. By type:
    // `Boolean.parseBoolean` and `String.valueOf` make something of anything.
    static Map<?, ?> checkProfile(Object answer, String provider) {
        check(answer instanceof Map<?, ?> it && provider.equals(it.get("provider")), "lost");
        var profile = (Map<?, ?>) answer;
        for (String name : new String[] {"subject", "providerSubject"}) {
            check(profile.get(name) instanceof String text && !text.isEmpty(), "lost");
        }
        for (String name : new String[] {"name", "username", "email", "avatarUrl"}) {
            Object value = profile.get(name);
            check(profile.containsKey(name) && (value == null || value instanceof String), "lost");
        }
        check(profile.get("emailVerified") instanceof Boolean, "lost");
        return profile;
    }

    // [send] One time limit for everything, up to the last byte of a server that drips: the one of a
    // `HttpRequest` ends with the headers. No redirect is followed, which would carry the secrets on.
    private Answer send(String method, String address, Map<String, String> body, String token) throws Exception {
        var sent = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(Json.write(body));
        var request = HttpRequest.newBuilder(URI.create(address)).method(method, sent).header("Accept", "application/json");
        if (body != null) {
            request.header("Content-Type", "application/json");
        }
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        var answer = THREADS.submit(() -> {
            var response = CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
            try (var stream = response.body()) {
                return read(response, stream.readNBytes(MAX_ANSWER_BYTES + 1));
            }
        });
        try {
            return answer.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        } finally {
            answer.cancel(true);
        }
    }

    private static Answer read(HttpResponse<?> response, byte[] content) {
        String type = response.headers().firstValue("Content-Type").orElse("");
        check(content.length <= MAX_ANSWER_BYTES, "lost");
        check(type.split(";", 2)[0].strip().equalsIgnoreCase("application/json"), "lost");
        return new Answer(response.statusCode(), Json.parse(new String(content, UTF_8)));
    }

    // [/]

    private static HttpClient client() {
        // A GET on a connection that was found closed would be sent a second time.
        System.setProperty("jdk.httpclient.keepalive.timeout", "0");
        System.setProperty("jdk.httpclient.disableRetryConnect", "true");
        var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).executor(THREADS)
            .followRedirects(HttpClient.Redirect.NEVER).proxy(ProxySelector.of(null));
        String authority = System.getenv("SSL_CERT_FILE");
        return authority == null ? client.build() : client.sslContext(trusting(Path.of(authority))).build();
    }

    /** Trust in the authorities of a PEM file alone. */
    private static SSLContext trusting(Path file) {
        try {
            var store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null);
            var bytes = new ByteArrayInputStream(Files.readAllBytes(file));
            for (var it : CertificateFactory.getInstance("X.509").generateCertificates(bytes)) {
                store.setCertificateEntry("authority " + store.size(), it);
            }
            var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            var context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (Exception error) {
            throw new IllegalStateException("SSL_CERT_FILE is not a file of certificates", error);
        }
    }

    /** The time; that of KIT_CLOCK_URL, the clock of tests, if there is one. */
    double now() throws Exception {
        if (Settings.CLOCK == null) {
            return System.currentTimeMillis() / 1000.0;
        }
        return (Double) ((Map<?, ?>) send("GET", Settings.CLOCK, null, null).json).get("now");
    }
}
