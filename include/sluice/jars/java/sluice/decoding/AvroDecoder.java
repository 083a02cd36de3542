package sluice.decoding;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Records of one Avro schema. All of a record is read, declared or not, and nothing may follow it. */
final class AvroDecoder extends Decoder {
  private static final long serialVersionUID = 1;

  private final String declaration;
  private final String written;

  private transient Schema schema;
  private transient boolean[] wanted;
  private transient AvroValues values;

  /**
   * Make one.
   *
   * @param fields the columns
   * @param declaration what is declared of them, as JSON
   * @param written the schema that the records were written under: of a record
   */
  AvroDecoder(StructType fields, String declaration, String written) {
    super(fields);
    this.declaration = declaration;
    this.written = written;
  }

  @Override
  public InternalRow decode(byte[] value) {
    if (value == null) {
      return refused(Fault.TOMBSTONE);
    }
    if (value.length == 0) {
      return refused(Fault.EMPTY);
    }
    if (schema == null) {
      prepare();
    }
    AvroBytes bytes = new AvroBytes(value);
    AvroValue[] parts = new AvroValue[wanted.length];
    try {
      List<Schema.Field> all = schema.getFields();
      for (int i = 0; i < parts.length; i++) {
        if (wanted[i]) {
          parts[i] = bytes.whole(all.get(i).schema());
        } else {
          bytes.skip(all.get(i).schema());
        }
      }
    } catch (AvroBytes.BrokenException broken) {
      return refused(Fault.MALFORMED);
    }
    Object[] row = values.read(new AvroValue(schema, parts));
    UTF8String fault = bytes.atEnd() ? null : Fault.TRAILING_BYTES;
    if (fault == null && !bytes.onlyFinite()) {
      fault = Fault.NOT_FINITE;
    }
    if (fault == null && values.unfit() != null) {
      fault = Fault.WRONG_TYPE;
    }
    return row(row, fault, fault == Fault.WRONG_TYPE ? values.unfit() : null);
  }

  private void prepare() {
    Declared[] declared = Declared.all(Declared.parsed(declaration).get("fields"), "");
    Set<String> first = new HashSet<>();
    for (Declared field : declared) {
      first.add(field.path[0]);
    }
    Schema read = new Schema.Parser().parse(written);
    wanted = new boolean[read.getFields().size()];
    for (int i = 0; i < wanted.length; i++) {
      wanted[i] = first.contains(read.getFields().get(i).name());
    }
    values = new AvroValues(declared);
    schema = read;
  }
}
