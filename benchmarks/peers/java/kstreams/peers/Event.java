package peers;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/** An ad event, as its JSON names the fields. */
record Event(
    String user_id, String page_id, String ad_id, String ad_type, String event_type, String event_time) {
  private static final ObjectReader READER = new ObjectMapper().readerFor(Event.class);

  /** Each record is parsed once, where the consumer takes it. */
  static Serde<Event> serde() {
    Deserializer<Event> read = (topic, value) -> parse(value);
    return Serdes.serdeFrom(
        (topic, event) -> {
          throw new UnsupportedOperationException("events are only read");
        },
        read);
  }

  private static Event parse(byte[] value) {
    try {
      return READER.readValue(value);
    } catch (JsonProcessingException broken) {
      throw new IllegalArgumentException(broken);
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }

  /** The time of the event is the record's time. */
  static long time(ConsumerRecord<Object, Object> record, long partitionTime) {
    return Instant.parse(((Event) record.value()).event_time()).toEpochMilli();
  }
}
