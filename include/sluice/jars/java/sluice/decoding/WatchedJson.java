package sluice.decoding;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import java.time.DateTimeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A parser that looks at every token on its way to Spark, and at those that Spark leaves unread.
 *
 * <p>All of the document is watched, declared or not: what two parsers read differently is trusted in no part.
 */
final class WatchedJson extends JsonParserDelegate {
  private final Set<String> declared;
  private final Map<String, String> zones;
  private final List<Names> objects = new ArrayList<>();
  private Names before = new Names();
  private boolean asBefore;
  private boolean escapes;
  private int depth;
  private IOException broken;
  private boolean halfCharacter;
  private boolean trailing;
  private boolean repeated;
  private boolean wrongCase;
  private boolean notFinite;

  /**
   * Make one that watches document after document.
   *
   * @param declared names of fields, in lower case
   * @param zones of those that are times in text, the zone of one that names none; empty: there is none
   */
  WatchedJson(Set<String> declared, Map<String, String> zones) {
    super(null);
    this.declared = declared;
    this.zones = zones;
    this.objects.add(new Names());
  }

  /** Begin with another document; {@code escapes}: it may have an escaped surrogate in it. */
  WatchedJson watch(JsonParser parser, boolean mayEscape) {
    delegate = parser;
    escapes = mayEscape;
    asBefore = true;
    depth = 0;
    broken = null;
    halfCharacter = trailing = repeated = wrongCase = notFinite = false;
    return this;
  }

  /** What was found in the document, once it is closed; null if nothing was. */
  UTF8String fault() {
    if (broken != null || halfCharacter) {
      return Fault.MALFORMED;
    }
    if (trailing) {
      return Fault.TRAILING_BYTES;
    }
    if (repeated) {
      return Fault.DUPLICATE_KEY;
    }
    if (wrongCase) {
      return Fault.WRONG_CASE;
    }
    return notFinite ? Fault.NOT_FINITE : null;
  }

  @Override
  public JsonToken nextToken() throws IOException {
    refuseBroken();
    try {
      JsonToken token = delegate.nextToken();
      if (token != null) {
        look(token);
      }
      return token;
    } catch (IOException error) {
      throw broke(error);
    }
  }

  /** As the base class has it, and by way of {@link #nextToken}. */
  @Override
  public JsonParser skipChildren() throws IOException {
    JsonToken token = currentToken();
    if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
      for (int left = 1; left > 0; ) {
        JsonToken next = nextToken();
        left += next.isStructStart() ? 1 : next.isStructEnd() ? -1 : 0;
      }
    }
    return this;
  }

  @Override
  public String getText() throws IOException {
    refuseBroken();
    try {
      String zone = depth == 1 ? zones.get(currentName()) : null;
      return zone == null ? delegate.getText() : instant(delegate.getText(), zone);
    } catch (IOException error) {
      throw broke(error);
    }
  }

  @Override
  public int getTextLength() throws IOException {
    refuseBroken();
    try {
      return delegate.getTextLength();
    } catch (IOException error) {
      throw broke(error);
    }
  }

  @Override
  public long getLongValue() throws IOException {
    if (depth == 1 && zones.containsKey(currentName())) {
      throw new DateTimeException("a number"); // Spark would take it for seconds
    }
    return delegate.getLongValue();
  }

  /** Read the document to its end, and see what follows it. */
  @Override
  public void close() throws IOException {
    try {
      while (broken == null && depth > 0) {
        nextToken();
      }
      trailing = broken == null && follows();
    } catch (IOException error) {
      broke(error);
    } finally {
      delegate.close();
    }
    if (broken == null && !repeated && !wrongCase) {
      Names sound = objects.set(0, before);
      before = sound;
    }
  }

  private void look(JsonToken token) throws IOException {
    switch (token) {
      case START_OBJECT:
      case START_ARRAY:
        depth++;
        if (objects.size() < depth) {
          objects.add(new Names());
        }
        objects.get(depth - 1).clear();
        break;
      case END_OBJECT:
      case END_ARRAY:
        depth--;
        break;
      case FIELD_NAME:
        lookAtName(delegate.currentName());
        break;
      case VALUE_STRING:
        halfCharacter |= escapes && hasHalfCharacter(delegate.getText());
        break;
      case VALUE_NUMBER_FLOAT:
        notFinite |= delegate.isNaN();
        break;
      default:
    }
  }

  private void lookAtName(String name) {
    Names names = objects.get(depth - 1);
    halfCharacter |= escapes && hasHalfCharacter(name);
    if (depth > 1) {
      repeated |= names.repeats(name);
    } else if (asBefore && before.goesOn(names.count(), name)) {
      names.append(name); // records of one producer have the same names in the same order
    } else {
      asBefore = false;
      repeated |= names.repeats(name);
      wrongCase |= !declared.contains(name) && declared.contains(name.toLowerCase(Locale.ROOT));
    }
  }

  private static boolean hasHalfCharacter(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (Character.isSurrogate(text.charAt(i))) {
        if (!Character.isSurrogatePair(text.charAt(i), i + 1 < text.length() ? text.charAt(i + 1) : ' ')) {
          return true;
        }
        i++;
      }
    }
    return false;
  }

  /** Return a time as Spark reads it. It would take much else for one: a year, a time of today, blanks and zeros. */
  private static String instant(String text, String zone) {
    String read = Instants.read(text, zone);
    if (read == null) {
      throw new DateTimeException("no time in ISO 8601 with its zone");
    }
    return read;
  }

  private boolean follows() {
    try {
      return delegate.nextToken() != null;
    } catch (IOException garbage) {
      return true;
    }
  }

  /** After an error the parser stands in the middle of something, and what it said next would be invented. */
  private void refuseBroken() throws IOException {
    if (broken != null) {
      throw broken;
    }
  }

  private IOException broke(IOException error) {
    broken = error;
    return error;
  }
}
