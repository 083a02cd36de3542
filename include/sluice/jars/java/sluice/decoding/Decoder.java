package sluice.decoding;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * From bytes to declared fields, and why they are not sound.
 *
 * <p>Nothing that a record holds raises: it is decoded, or has a fault, or both. Spark makes one of these per task.
 */
public abstract class Decoder implements Serializable {
  private static final long serialVersionUID = 1;
  private static final String FAULT = "_fault";
  private static final String DETAIL = "_fault_detail";

  private final StructType fields;
  private final StructType type;

  Decoder(StructType fields) {
    this.fields = fields;
    StructType plain = new StructType();
    for (StructField field : fields.fields()) { // how a field is written is for decoders only
      plain = plain.add(field.name(), field.dataType());
    }
    this.type = plain.add(FAULT, DataTypes.StringType).add(DETAIL, DataTypes.StringType);
  }

  /** The declared fields, then {@code _fault} (null, or one of {@link Fault}) and {@code _fault_detail}: which field. */
  public final StructType type() {
    return type;
  }

  final StructType fields() {
    return fields;
  }

  /** Decode a record's value, which may be null. */
  public abstract InternalRow decode(byte[] value);

  final InternalRow refused(UTF8String fault) {
    return refused(fault, null);
  }

  final InternalRow refused(UTF8String fault, String detail) {
    return row(new Object[fields.length()], fault, detail);
  }

  /** Return what was decoded, as far as it was, beside its fault and the field that has it. */
  final InternalRow row(Object[] decoded, UTF8String fault, String detail) {
    Object[] values = Arrays.copyOf(decoded, type.length());
    values[values.length - 2] = fault;
    values[values.length - 1] = detail == null ? null : UTF8String.fromString(detail);
    return new GenericInternalRow(values);
  }
}
