package sluice.decoding;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Lines of text, of which a regular expression (its groups) or a delimiter (RFC 4180) makes fields. */
final class LineDecoder extends Decoder {
  private static final long serialVersionUID = 1;
  private static final char QUOTE = '"';

  private final String declaration;

  private transient Declared[] declared;
  private transient Pattern pattern;
  private transient int[] places;
  private transient char delimiter;
  private transient int columns;

  /**
   * Make one.
   *
   * @param fields the columns
   * @param declaration what is declared of them, as JSON
   */
  LineDecoder(StructType fields, String declaration) {
    super(fields);
    this.declaration = declaration;
  }

  @Override
  public InternalRow decode(byte[] value) {
    if (value == null) {
      return refused(Fault.TOMBSTONE);
    }
    if (Texts.firstCharacter(value) == value.length) {
      return refused(Fault.EMPTY);
    }
    if (!Texts.isUtf8(value)) {
      return refused(Fault.MALFORMED);
    }
    if (declared == null) {
      prepare();
    }
    String line = withoutEnd(UTF8String.fromBytes(value).toString());
    if (pattern == null) {
      List<String> parts = split(line);
      boolean fits = parts != null && parts.size() == columns;
      String wrong = parts == null ? "the quoting is broken" : parts.size() + " columns, and not " + columns;
      return fits ? converted(parts) : refused(Fault.MALFORMED, wrong);
    }
    List<String> groups = groups(line);
    return groups == null ? refused(Fault.MALFORMED, "no match") : converted(groups);
  }

  private InternalRow converted(List<String> parts) {
    Object[] row = new Object[declared.length];
    String notFinite = null;
    String wrongType = null;
    for (int i = 0; i < row.length; i++) {
      String text = parts.get(places[i]);
      if (text == null) {
        continue;
      }
      row[i] = Texts.convert(declared[i], text);
      if (row[i] == null && wrongType == null) {
        boolean local = declared[i].kind == Declared.Kind.TIMESTAMP && Instants.isLocal(text);
        boolean zoneless = local && declared[i].unit == null && declared[i].time == null;
        wrongType = declared[i].name + (zoneless ? " is a time without a zone" : " is no " + declared[i].wanted());
      } else if (row[i] instanceof Double number && !Double.isFinite(number) && notFinite == null) {
        notFinite = declared[i].name + " is no finite number";
      }
    }
    String detail = notFinite == null ? wrongType : notFinite;
    UTF8String fault = detail == null ? null : detail == notFinite ? Fault.NOT_FINITE : Fault.WRONG_TYPE;
    return row(row, fault, detail);
  }

  /** The groups of a line, and null for one that is empty or absent; null if the line does not match. */
  private List<String> groups(String line) {
    Matcher match = pattern.matcher(line);
    try {
      if (!match.matches()) {
        return null;
      }
    } catch (StackOverflowError tooLong) { // groups that repeat go one call deeper each time
      return null;
    }
    List<String> found = new ArrayList<>();
    found.add(null);
    for (int i = 1; i <= match.groupCount(); i++) {
      String group = match.group(i);
      found.add(group == null || group.isEmpty() ? null : group);
    }
    return found;
  }

  /** The columns of a line, and null for one that is empty and not quoted; null if the quoting is broken. */
  private List<String> split(String line) {
    List<String> found = new ArrayList<>();
    int at = 0;
    while (true) {
      boolean quoted = at < line.length() && line.charAt(at) == QUOTE;
      int end = quoted ? closing(line, at) : unquoted(line, at);
      if (end < 0 || end < line.length() && line.charAt(end) != delimiter) {
        return null;
      }
      String part = quoted ? line.substring(at + 1, end - 1).replace("\"\"", "\"") : line.substring(at, end);
      found.add(part.isEmpty() && !quoted ? null : part);
      if (end == line.length()) {
        return found;
      }
      at = end + 1;
    }
  }

  /** The place behind the quote that closes; -1 if none does. */
  private static int closing(String line, int from) {
    int at = from + 1;
    while (true) {
      at = line.indexOf(QUOTE, at);
      if (at < 0) {
        return -1;
      }
      if (at + 1 == line.length() || line.charAt(at + 1) != QUOTE) {
        return at + 1;
      }
      at += 2;
    }
  }

  private int unquoted(String line, int from) {
    for (int at = from; at < line.length(); at++) {
      char found = line.charAt(at);
      if (found == delimiter) {
        return at;
      }
      if (found == QUOTE || found == '\n' || found == '\r') {
        return -1;
      }
    }
    return line.length();
  }

  private static String withoutEnd(String text) {
    int end = text.length();
    end -= text.endsWith("\r\n") ? 2 : text.endsWith("\n") ? 1 : 0;
    return text.substring(0, end);
  }

  private void prepare() {
    JsonNode said = Declared.parsed(declaration);
    if (said.has("regex")) {
      pattern = Pattern.compile(said.get("regex").textValue(), Pattern.UNIX_LINES);
    } else {
      delimiter = said.get("delimiter").textValue().charAt(0);
      columns = said.get("columns").intValue();
    }
    Declared[] all = Declared.all(said.get("fields"), "");
    places = new int[all.length];
    for (int i = 0; i < all.length; i++) {
      places[i] = said.get("places").get(i).intValue();
    }
    declared = all;
  }
}
