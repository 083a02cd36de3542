package peers;

import java.time.Instant;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** An ad event, as its JSON names the fields. */
record Event(
    String user_id, String page_id, String ad_id, String ad_type, String event_type, String event_time) {

  /** The time of the event is the record's time. */
  static long time(ConsumerRecord<Object, Object> record, long partitionTime) {
    return Instant.parse(((Event) record.value()).event_time()).toEpochMilli();
  }
}
