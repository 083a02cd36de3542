package sluice.decoding;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
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

  private final StructType fields;
  private final StructType type;

  Decoder(StructType fields) {
    this.fields = fields;
    this.type = fields.add(FAULT, DataTypes.StringType);
  }

  /** The declared fields, then {@code _fault}: null, or one of {@link Fault}. */
  public final StructType type() {
    return type;
  }

  final StructType fields() {
    return fields;
  }

  /** Decode a record's value, which may be null. */
  public abstract InternalRow decode(byte[] value);

  final InternalRow refused(UTF8String fault) {
    return row(null, fault);
  }

  /** Return what was decoded, as far as it was, beside its fault. */
  final InternalRow row(InternalRow decoded, UTF8String fault) {
    Object[] values = new Object[type.length()];
    if (decoded != null) {
      for (int i = 0; i < values.length - 1; i++) {
        values[i] = decoded.isNullAt(i) ? null : decoded.get(i, fields.fields()[i].dataType());
      }
    }
    values[values.length - 1] = fault;
    return new GenericInternalRow(values);
  }
}
