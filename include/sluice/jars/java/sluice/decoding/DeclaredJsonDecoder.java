package sluice.decoding;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * JSON with more than flat fields: objects, lists, paths, and times in forms of their own.
 *
 * <p>As strict as {@link JsonDecoder}, whose reader watches the same document, and of flat fields with the same values.
 */
final class DeclaredJsonDecoder extends Decoder {
  private static final long serialVersionUID = 1;

  private final String declaration;

  private transient JsonFactory factory;
  private transient WatchedJson watched;
  private transient JsonValues values;
  private transient ObjectShape shape;

  /**
   * Make one.
   *
   * @param fields the columns
   * @param declaration what is declared of them, as JSON
   */
  DeclaredJsonDecoder(StructType fields, String declaration) {
    super(fields);
    this.declaration = declaration;
  }

  @Override
  public InternalRow decode(byte[] value) {
    if (value == null) {
      return refused(Fault.TOMBSTONE);
    }
    int first = JsonDecoder.firstCharacter(value);
    if (first == value.length) {
      return refused(Fault.EMPTY);
    }
    if (value[first] != '{' || (value.length > 1 && value[1] == 0) || !Texts.isUtf8(value)) {
      return refused(Fault.MALFORMED);
    }
    if (factory == null) {
      prepare();
    }
    Object[] row = new Object[fields().length()];
    values.begin(value);
    try {
      watched.watch(factory.createParser(value), JsonDecoder.mayEscapeSurrogates(value));
      watched.nextToken();
      values.read(watched, shape, row);
      watched.close();
    } catch (IOException broken) {
      return refused(Fault.MALFORMED);
    }
    UTF8String fault = fault();
    if (fault == Fault.MALFORMED) {
      return refused(fault);
    }
    String detail = fault == null ? null : values.detail(fault);
    return row(new GenericInternalRow(row), fault, detail == null ? null : UTF8String.fromString(detail));
  }

  /** The first fault in their order: what is judged of the whole document, and what only of declared fields. */
  private UTF8String fault() {
    UTF8String seen = watched.fault();
    if ((seen == null || seen == Fault.NOT_FINITE) && values.detail(Fault.WRONG_CASE) != null) {
      return Fault.WRONG_CASE;
    }
    if (seen == null && values.detail(Fault.NOT_FINITE) != null) {
      return Fault.NOT_FINITE;
    }
    return seen == null && values.detail(Fault.WRONG_TYPE) != null ? Fault.WRONG_TYPE : seen;
  }

  private void prepare() {
    JsonNode said = Declared.parsed(declaration);
    shape = ObjectShape.of(Declared.all(said.get("fields"), ""), "");
    factory = JsonDecoder.strict().buildJsonFactory();
    watched = new WatchedJson(new HashSet<>(), new HashMap<>());
    values = new JsonValues(factory);
  }
}
