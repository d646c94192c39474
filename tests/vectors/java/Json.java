import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON, which Java's own library does not: maps, lists, strings, longs, booleans. */
class Json {
  private final String text;
  private int at = 0;

  private Json(String text) {
    this.text = text;
  }

  static Object read(String text) {
    Json json = new Json(text);
    Object value = json.value();
    json.next();
    if (json.at != text.length()) {
      throw json.wrong();
    }
    return value;
  }

  private IllegalArgumentException wrong() {
    return new IllegalArgumentException("no JSON at " + at);
  }

  private char next() {
    while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
      ++at;
    }
    return at < text.length() ? text.charAt(at) : 0;
  }

  private boolean take(String word) {
    next();
    boolean found = text.startsWith(word, at);
    at += found ? word.length() : 0;
    return found;
  }

  private void need(String word) {
    if (!take(word)) {
      throw wrong();
    }
  }

  private Object value() {
    if (take("{")) {
      Map<String, Object> members = new LinkedHashMap<>();
      for (boolean more = !take("}"); more; more = !take("}")) {
        if (!members.isEmpty()) {
          need(",");
        }
        need("\"");
        String name = string();
        need(":");
        members.put(name, value());
      }
      return members;
    }
    if (take("[")) {
      List<Object> values = new ArrayList<>();
      for (boolean more = !take("]"); more; more = !take("]")) {
        if (!values.isEmpty()) {
          need(",");
        }
        values.add(value());
      }
      return values;
    }
    if (take("\"")) {
      return string();
    }
    if (take("true")) {
      return true;
    }
    if (take("false")) {
      return false;
    }
    int from = at;
    while (at < text.length() && "-0123456789".indexOf(text.charAt(at)) >= 0) {
      ++at;
    }
    return Long.valueOf(text.substring(from, at));
  }

  private String string() {
    StringBuilder found = new StringBuilder();
    for (; text.charAt(at) != '"'; ++at) {
      if (text.charAt(at) == '\\') {
        throw wrong(); // The vectors have none.
      }
      found.append(text.charAt(at));
    }
    ++at;
    return found.toString();
  }
}
