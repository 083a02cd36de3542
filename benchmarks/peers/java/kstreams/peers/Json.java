package peers;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/** Values in JSON, read strictly: an unknown field, or anything behind the object, is a fault. */
final class Json {
  private static final ObjectMapper MAPPER =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private Json() {}

  /** Each record is parsed once, where the consumer takes it. */
  static <T> Serde<T> reading(Class<T> type) {
    ObjectReader reader = MAPPER.readerFor(type);
    Deserializer<T> read = (topic, value) -> parse(reader, value);
    return Serdes.serdeFrom(
        (topic, record) -> {
          throw new UnsupportedOperationException("these records are only read");
        },
        read);
  }

  static byte[] write(Object value) {
    try {
      return MAPPER.writeValueAsBytes(value);
    } catch (JsonProcessingException broken) {
      throw new IllegalArgumentException(broken);
    }
  }

  private static <T> T parse(ObjectReader reader, byte[] value) {
    try {
      return reader.readValue(value);
    } catch (JsonProcessingException broken) {
      throw new IllegalArgumentException(broken);
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }
}
