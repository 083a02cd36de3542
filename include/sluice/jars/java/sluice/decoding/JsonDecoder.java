package sluice.decoding;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Records that are one object of JSON.
 *
 * <p>All of the document is read, declared or not: what two parsers read differently is trusted in no part.
 */
final class JsonDecoder extends Decoder {
  private static final long serialVersionUID = 1;

  private final String declaration;

  private transient JsonValues values;

  /**
   * Make one.
   *
   * @param fields the columns
   * @param declaration what is declared of them, as JSON
   */
  JsonDecoder(StructType fields, String declaration) {
    super(fields);
    this.declaration = declaration;
  }

  @Override
  public InternalRow decode(byte[] value) {
    if (value == null) {
      return refused(Fault.TOMBSTONE);
    }
    int first = Texts.firstCharacter(value);
    if (first == value.length) {
      return refused(Fault.EMPTY);
    }
    if (value[first] != '{' || !Texts.isUtf8(value)) {
      return refused(Fault.MALFORMED);
    }
    if (values == null) {
      values = new JsonValues(ObjectShape.of(Declared.all(Declared.parsed(declaration).get("fields"), ""), ""));
    }
    Object[] row = new Object[fields().length()];
    try {
      UTF8String fault = values.read(value, first, row);
      return row(row, fault, values.detail(fault));
    } catch (IOException broken) {
      return refused(Fault.MALFORMED);
    }
  }
}
