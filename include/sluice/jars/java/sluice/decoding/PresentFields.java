package sluice.decoding;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.sparkproject.spark_core.protobuf.CodedInputStream;

/** Which fields a Protobuf message has, also those that nothing declares, as an object of JSON with a value of each. */
final class PresentFields extends MessageDecoder {
  private static final long serialVersionUID = 1;
  static final StructType COLUMNS = new StructType().add("present", DataTypes.StringType);

  private transient ProtobufMessage message;
  private transient ObjectMapper json;

  PresentFields(String layout, boolean framed) {
    super(COLUMNS, layout, framed);
  }

  @Override
  InternalRow decode(byte[] value, int from) {
    CodedInputStream in = CodedInputStream.newInstance(value, from, value.length - from);
    ObjectNode found = json.createObjectNode();
    try {
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        ProtobufMessage.Field field = message.field(tag >>> 3);
        boolean varint = (tag & 7) == ProtobufMessage.VARINT;
        if (varint && field != null && !field.repeated && field.type == ProtobufMessage.Type.BOOL) {
          found.put(field.name, in.readBool());
          continue;
        }
        put(found, field, tag);
        if (!in.skipField(tag)) {
          return refused(Fault.MALFORMED);
        }
      }
    } catch (IOException broken) {
      return refused(Fault.MALFORMED);
    }
    return row(new Object[] {UTF8String.fromString(found.toString())}, null, null);
  }

  @Override
  void prepare(ProtobufMessage type) {
    json = new ObjectMapper();
    message = type;
  }

  /** Put a value of the kind that a field has; one that is not declared has its number for a name. */
  private static void put(ObjectNode found, ProtobufMessage.Field field, int tag) {
    String name = field == null ? Integer.toString(tag >>> 3) : field.name;
    if (field != null && field.repeated) {
      if (field.isMap()) {
        found.putObject(name);
      } else {
        found.putArray(name);
      }
    } else if (field != null && field.inside != null) {
      found.putObject(name);
    } else if (field == null ? (tag & 7) == ProtobufMessage.VARINT : field.type.isWhole()) {
      found.put(name, 1);
    } else if (field == null ? (tag & 7) != ProtobufMessage.LENGTH : field.type.isReal()) {
      found.put(name, 0.5);
    } else {
      found.put(name, "");
    }
  }
}
