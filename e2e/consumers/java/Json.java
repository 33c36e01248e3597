import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** JSON, strictly, as the JDK has none; in an application of yours it is a library. Numbers are doubles. */
final class Json {
    private static final Pattern TOKEN = Pattern.compile("[ \\t\\r\\n]*+("
        + "[\\[\\]{},:]|true|false|null|-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?"
        + "|\"(?:[^\"\\\\\\x00-\\x1f]++|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4})*+\")[ \\t\\r\\n]*+");
    private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u(....)|(.))");
    private final Matcher tokens;
    private String token;

    private Json(String text) {
        tokens = TOKEN.matcher(text);
        next();
    }

    static Object parse(String text) {
        var json = new Json(text);
        Object value = json.value(0);
        json.demand(json.token == null && json.tokens.hitEnd());
        return value;
    }

    private void demand(boolean isSo) {
        if (!isSo) {
            throw new IllegalArgumentException("no JSON");
        }
    }

    private String next() {
        String last = token;
        int end = last == null ? 0 : tokens.end();
        if (end == tokens.regionEnd()) {
            token = null;
        } else {
            demand(tokens.find(end) && tokens.start() == end);
            token = tokens.group(1);
        }
        return last;
    }

    private Object value(int depth) {
        demand(token != null && depth < 16);
        String first = next();
        switch (first.charAt(0)) {
            case '{', '[':
                var members = new HashMap<String, Object>();
                var list = new ArrayList<Object>();
                String close = first.equals("{") ? "}" : "]";
                while (!close.equals(token)) {
                    demand(list.isEmpty() || ",".equals(next()));
                    String name = first.equals("{") ? name() : "";
                    list.add(value(depth + 1));
                    members.put(name, list.get(list.size() - 1));
                }
                next();
                return first.equals("{") ? members : list;
            case '"':
                return unescaped(first);
            case 't', 'f':
                return first.equals("true");
            case 'n':
                return null;
            default:
                return Double.valueOf(first);
        }
    }

    private String name() {
        demand(token != null && token.startsWith("\""));
        String name = unescaped(next());
        demand(":".equals(next()));
        return name;
    }

    private static String unescaped(String text) {
        return ESCAPE.matcher(text.substring(1, text.length() - 1)).replaceAll(it -> Matcher.quoteReplacement(
            it.group(1) != null ? String.valueOf((char) Integer.parseInt(it.group(1), 16))
                : it.group(2).equals("/") ? "/" : ("\\" + it.group(2)).translateEscapes()));
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream().map(it -> write(it.getKey()) + ":" + write(it.getValue()))
                .collect(Collectors.joining(",", "{", "}"));
        } else if (value instanceof List<?> list) {
            return list.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
        } else if (value instanceof String text) {
            return text.chars().mapToObj(it -> it >= ' ' && it != '"' && it != '\\' ? Character.toString(it)
                : String.format("\\u%04x", it)).collect(Collectors.joining("", "\"", "\""));
        }
        return String.valueOf(value);
    }
}
