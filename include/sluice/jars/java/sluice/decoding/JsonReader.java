package sluice.decoding;

import java.io.IOException;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * JSON as RFC 8259 has it, token by token, over the bytes of one document, which are UTF-8.
 *
 * <p>NaN and infinite numbers are read as well, so that they can be refused by name. Nothing is copied before it is asked
 * for. The limits are those of Jackson, Spark's reader: what two readers take for different things is trusted in no part.
 */
final class JsonReader {
  private static final int MOST_DEPTH = 1_000;
  private static final int MOST_DIGITS = 1_000;
  private static final int LONGEST_TEXT = 20_000_000;
  private static final int LONGEST_NAME = 50_000;
  private static final int SAFE_DIGITS = 18;
  private static final byte[] TRUE = {'t', 'r', 'u', 'e'};
  private static final byte[] FALSE = {'f', 'a', 'l', 's', 'e'};
  private static final byte[] NULL = {'n', 'u', 'l', 'l'};
  private static final byte[] NAN = {'N', 'a', 'N'};
  private static final byte[] INFINITY = {'I', 'n', 'f', 'i', 'n', 'i', 't', 'y'};
  private static final byte[] INF = {'I', 'N', 'F'};

  private final Broken broken = new Broken();
  private final List<Names> names = new ArrayList<>();
  private byte[] bytes;
  private int place;
  private int depth;
  private int from;
  private int to;
  private boolean escaped;
  private boolean repeats;
  private boolean notFinite;

  /** No JSON. It has no stack, since a feed may be full of it. */
  static final class Broken extends IOException {
    private static final long serialVersionUID = 1;

    @Override
    public Throwable fillInStackTrace() {
      return this;
    }
  }

  /** Begin with another document. */
  void begin(byte[] document, int start) {
    bytes = document;
    place = start;
    depth = 0;
    repeats = notFinite = false;
  }

  /** Whether an object has a key twice. */
  boolean repeats() {
    return repeats;
  }

  /** Whether a number is none, or infinite. */
  boolean hasNonFinite() {
    return notFinite;
  }

  /** Take note of a key that is there twice. */
  void repeated() {
    repeats = true;
  }

  /** Where the next byte is. */
  int place() {
    return place;
  }

  /** Go back to the beginning of a value. */
  void back(int start) {
    place = start;
  }

  /** The names of the object that is open here, and none of one before. */
  Names names() {
    while (names.size() <= depth) {
      names.add(new Names());
    }
    Names found = names.get(depth);
    found.clear();
    return found;
  }

  /** Whether there is something else but blanks behind the document. */
  boolean isFollowed() {
    skipBlanks();
    return place < bytes.length;
  }

  /** Read the beginning of a value; of one that is no object and no list, all of it. */
  JsonKind value() throws Broken {
    switch (skipBlanks()) {
      case '{':
        return JsonKind.OBJECT;
      case '[':
        return JsonKind.ARRAY;
      case '"':
        readText();
        return JsonKind.TEXT;
      case 't':
        return word(TRUE, JsonKind.BOOLEAN);
      case 'f':
        return word(FALSE, JsonKind.BOOLEAN);
      case 'n':
        return word(NULL, JsonKind.NULL);
      case 'N':
        return word(NAN, JsonKind.NOT_FINITE);
      case 'I':
        return word(INFINITY, JsonKind.NOT_FINITE);
      default:
        return number();
    }
  }

  /** Open the object or the list that begins here; whether there is something in it. */
  boolean open() throws Broken {
    if (++depth > MOST_DEPTH) {
      throw broken;
    }
    byte end = bytes[place++] == '{' ? (byte) '}' : (byte) ']';
    if (skipBlanks() != end) {
      return true;
    }
    place++;
    depth--;
    return false;
  }

  /** Go on behind a value of an object or a list; whether there is another one. */
  boolean next(char end) throws Broken {
    byte found = skipBlanks();
    if (found == ',') {
      place++;
      return true;
    }
    if (found != end) {
      throw broken;
    }
    place++;
    depth--;
    return false;
  }

  /** Read the key of a value: {@link #text} of it is there until the value is read. */
  void key() throws Broken {
    if (skipBlanks() != '"') {
      throw broken;
    }
    readText();
    if (to - from > LONGEST_NAME || skipBlanks() != ':') {
      throw broken;
    }
    place++;
  }

  /** Read on to the end of a value whose beginning was read. */
  void skip(JsonKind kind) throws Broken {
    if (kind == JsonKind.ARRAY) {
      for (boolean more = open(); more; more = next(']')) {
        skip(value());
      }
    } else if (kind == JsonKind.OBJECT && open()) {
      Names known = names();
      do {
        key();
        repeats |= known.repeats(text());
        skip(value());
      } while (next('}'));
    }
  }

  /** Whether the text that was read last is this one. */
  boolean isText(byte[] wanted) {
    return !escaped && Arrays.equals(bytes, from, to, wanted, 0, wanted.length);
  }

  /** The text that was read last; it may share the document's bytes. */
  UTF8String text() {
    return escaped ? unescaped() : UTF8String.fromBytes(bytes, from, to - from);
  }

  /** The text, or the number, that was read last. */
  String string() {
    return text().toString();
  }

  /** The text that was read last, or what else there is as it is written. */
  UTF8String written(JsonKind kind) throws Broken {
    if (kind != JsonKind.OBJECT && kind != JsonKind.ARRAY) {
      return text();
    }
    int start = place;
    skip(kind);
    return UTF8String.fromBytes(bytes, start, place - start);
  }

  /** Whether the word that was read last is {@code true}. */
  boolean isTrue() {
    return bytes[from] == 't';
  }

  /** The whole number that was read last; null if 64 bits do not hold it. */
  Long whole() {
    if (to - from > SAFE_DIGITS) {
      try {
        return Long.valueOf(string());
      } catch (NumberFormatException beyond) {
        return null;
      }
    }
    boolean negative = bytes[from] == '-';
    long found = 0;
    for (int i = negative ? from + 1 : from; i < to; i++) {
      found = 10 * found + bytes[i] - '0';
    }
    return negative ? -found : found;
  }

  /** The number that was read last. */
  Double real(JsonKind kind) {
    boolean whole = kind == JsonKind.WHOLE && to - from <= SAFE_DIGITS; // there is no whole number -0
    return whole ? Double.valueOf(whole()) : Double.valueOf(string());
  }

  /** The text that was read last as a time, as {@link Instants#micros} has it. */
  Long instant(ZoneOffset zone) {
    return escaped ? Instants.micros(string(), zone) : Instants.micros(bytes, from, to, zone);
  }

  /** Return the next byte that is no blank, which is not read; 0 at the end. */
  private byte skipBlanks() {
    while (place < bytes.length) {
      byte found = bytes[place];
      if (found != ' ' && found != '\n' && found != '\r' && found != '\t') {
        return found;
      }
      place++;
    }
    return 0;
  }

  private JsonKind word(byte[] word, JsonKind kind) throws Broken {
    int end = place + word.length;
    if (end > bytes.length || !Arrays.equals(bytes, place, end, word, 0, word.length)) {
      throw broken;
    }
    from = place;
    to = place = end;
    escaped = false;
    notFinite |= kind == JsonKind.NOT_FINITE;
    return kind;
  }

  private void readText() throws Broken {
    from = place + 1;
    escaped = false;
    int at = from;
    for (; at < bytes.length && bytes[at] != '"'; at++) {
      byte found = bytes[at];
      if (found == '\\') {
        escaped = true;
        at = escape(at + 1);
      } else if (found >= 0 && found < ' ') {
        throw broken;
      }
    }
    if (at >= bytes.length || at - from > LONGEST_TEXT) {
      throw broken;
    }
    to = at;
    place = at + 1;
  }

  /** Read what stands behind a backslash, and return the place of its last byte. */
  private int escape(int at) throws Broken {
    if (at >= bytes.length) {
      throw broken;
    }
    if (bytes[at] != 'u') {
      if ("\"\\/bfnrt".indexOf(bytes[at]) < 0) {
        throw broken;
      }
      return at;
    }
    int unit = unit(at + 1);
    if (!Character.isSurrogate((char) unit)) {
      return at + 4;
    }
    boolean pair = at + 6 < bytes.length && bytes[at + 5] == '\\' && bytes[at + 6] == 'u';
    if (!pair || !Character.isSurrogatePair((char) unit, (char) unit(at + 7))) {
      throw broken; // half a character
    }
    return at + 10;
  }

  private int unit(int at) throws Broken {
    int found = 0;
    for (int i = at; i < at + 4; i++) {
      int digit = i < bytes.length ? Character.digit(bytes[i], 16) : -1;
      if (digit < 0) {
        throw broken;
      }
      found = 16 * found + digit;
    }
    return found;
  }

  private UTF8String unescaped() {
    StringBuilder found = new StringBuilder();
    int start = from;
    for (int at = from; at < to; at++) {
      if (bytes[at] == '\\') {
        found.append(UTF8String.fromBytes(bytes, start, at - start));
        at++;
        if (bytes[at] == 'u') {
          found.append((char) Integer.parseInt(UTF8String.fromBytes(bytes, at + 1, 4).toString(), 16));
          at += 4;
        } else {
          int simple = "bfnrt".indexOf(bytes[at]);
          found.append(simple < 0 ? (char) bytes[at] : "\b\f\n\r\t".charAt(simple));
        }
        start = at + 1;
      }
    }
    found.append(UTF8String.fromBytes(bytes, start, to - start));
    return UTF8String.fromString(found.toString());
  }

  private JsonKind number() throws Broken {
    from = place;
    escaped = false;
    byte sign = peek();
    if (sign == '-' || sign == '+') {
      place++;
      if (peek() == 'I') {
        int start = from;
        word(place + 1 < bytes.length && bytes[place + 1] == 'N' ? INF : INFINITY, JsonKind.NOT_FINITE);
        from = start;
        return JsonKind.NOT_FINITE;
      }
      if (sign == '+') {
        throw broken;
      }
    }
    int digits = peek() == '0' ? zero() : digits();
    JsonKind kind = JsonKind.WHOLE;
    if (peek() == '.') {
      place++;
      digits += digits();
      kind = JsonKind.FRACTION;
    }
    if ((peek() | ' ') == 'e') {
      place++;
      if (peek() == '-' || peek() == '+') {
        place++;
      }
      digits += digits();
      kind = JsonKind.FRACTION;
    }
    if (digits > MOST_DIGITS) {
      throw broken;
    }
    to = place;
    return kind;
  }

  /** A zero stands alone: another digit behind it is no JSON, and no part of this number. */
  private int zero() {
    place++;
    return 1;
  }

  /** Read at least one digit. */
  private int digits() throws Broken {
    int start = place;
    while (place < bytes.length && bytes[place] >= '0' && bytes[place] <= '9') {
      place++;
    }
    if (place == start) {
      throw broken;
    }
    return place - start;
  }

  private byte peek() {
    return place < bytes.length ? bytes[place] : 0;
  }
}
