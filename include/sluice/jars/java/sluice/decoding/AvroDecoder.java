package sluice.decoding;

import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Records of one Avro schema. All of a record is read, declared or not, and nothing may follow it. */
final class AvroDecoder extends Decoder {
  private static final long serialVersionUID = 1;

  private final String written;

  private transient Schema schema;
  private transient int[] places;
  private transient AvroField[] converters;

  /**
   * Make one.
   *
   * @param fields what is declared
   * @param written the schema that the records were written under: of a record
   */
  AvroDecoder(StructType fields, String written) {
    super(fields);
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
    Object[] values = new Object[fields().length()];
    boolean finite = true;
    String unfit = null;
    try {
      List<Schema.Field> all = schema.getFields();
      for (int i = 0; i < places.length; i++) {
        int place = places[i];
        if (place < 0) {
          bytes.skip(all.get(i).schema());
          continue;
        }
        Object found = bytes.read(all.get(i).schema());
        finite &= !(found instanceof Number number) || Double.isFinite(number.doubleValue());
        values[place] = found == null ? null : converters[place].convert(found, bytes.branch());
        if (found != null && values[place] == null && unfit == null) {
          DataType type = fields().fields()[place].dataType();
          unfit = all.get(i).name() + " is " + bytes.branch().getType().getName() + ", and no " + type.simpleString();
        }
      }
    } catch (AvroBytes.BrokenException broken) {
      return refused(Fault.MALFORMED);
    }
    UTF8String fault = bytes.atEnd() ? null : Fault.TRAILING_BYTES;
    if (fault == null && !(finite && bytes.onlyFinite())) {
      fault = Fault.NOT_FINITE;
    }
    if (fault == null && unfit != null) {
      fault = Fault.WRONG_TYPE;
    }
    return row(new GenericInternalRow(values), fault, fault == Fault.WRONG_TYPE ? UTF8String.fromString(unfit) : null);
  }

  private void prepare() {
    schema = new Schema.Parser().parse(written);
    StructField[] declared = fields().fields();
    converters = new AvroField[declared.length];
    for (int i = 0; i < declared.length; i++) {
      converters[i] = AvroField.of(declared[i].dataType());
    }
    List<Schema.Field> all = schema.getFields();
    places = new int[all.size()];
    for (int i = 0; i < places.length; i++) {
      places[i] = fields().getFieldIndex(all.get(i).name()).isDefined() ? fields().fieldIndex(all.get(i).name()) : -1;
    }
  }
}
