package sluice.decoding;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.CodedInputStream;

/** Records that are one message of Protobuf, bare or behind its place in its file, which Confluent's frames have. */
abstract class MessageDecoder extends Decoder {
  private static final long serialVersionUID = 1;

  private final String layout;
  private final boolean framed;

  private transient ProtobufMessage message;
  private transient int[] path;

  /**
   * Make one.
   *
   * @param fields the columns
   * @param layout what the message's bytes mean, as JSON
   * @param framed whether the place of the message in its file comes first
   */
  MessageDecoder(StructType fields, String layout, boolean framed) {
    super(fields);
    this.layout = layout;
    this.framed = framed;
  }

  @Override
  public final InternalRow decode(byte[] value) {
    if (value == null) {
      return refused(Fault.TOMBSTONE);
    }
    if (message == null) {
      prepare();
    }
    int from = 0;
    if (framed) {
      CodedInputStream head = CodedInputStream.newInstance(value);
      try {
        if (!isOfTheMessage(head, value.length)) {
          return refused(Fault.UNKNOWN_SCHEMA, "another message of the file");
        }
      } catch (IOException broken) {
        return refused(Fault.BAD_FRAMING, "no place of a message behind the schema id");
      }
      from = head.getTotalBytesRead();
    }
    return from == value.length ? refused(Fault.EMPTY) : decode(value, from);
  }

  /** Decode a message, which has at least one byte. */
  abstract InternalRow decode(byte[] value, int from);

  /** Make what a task needs once. */
  abstract void prepare(ProtobufMessage type);

  /** Whether the place in front of a message is that of the one that is declared; one zero stands for the first. */
  private boolean isOfTheMessage(CodedInputStream head, int most) throws IOException {
    long count = head.readSInt64();
    if (count < 0 || count > most) {
      throw new IOException();
    }
    int[] found = new int[count == 0 ? 1 : (int) count];
    for (int i = 0; i < count; i++) {
      found[i] = head.readSInt32();
    }
    return Arrays.equals(found, path);
  }

  private void prepare() {
    JsonNode said = Declared.parsed(layout);
    ProtobufMessage type = ProtobufMessage.root(said);
    path = new int[said.get("path").size()];
    for (int i = 0; i < path.length; i++) {
      path[i] = said.get("path").get(i).intValue();
    }
    prepare(type);
    message = type;
  }
}
