package peers;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;

/**
 * Views per campaign in windows of ten seconds; drains the topic to its end, and ends.
 *
 * <p>Usage: Views bootstrap topic results folder campaigns.csv
 *
 * <p>The defaults of Kafka Streams (RocksDB, changelogs, at least once), two threads, and a cache that holds the
 * windows between two commits. A window's newest count is its result; closing flushes what the cache holds.
 */
final class Views {
  private static final Duration WINDOW = Duration.ofSeconds(10);
  private static final Duration GRACE = Duration.ofHours(24);
  private static final byte[] NOTHING = new byte[0];

  private final AtomicLong read = new AtomicLong();
  private final AtomicLong kept = new AtomicLong();
  private final AtomicLong counted = new AtomicLong();

  private Views() {}

  /** Run. */
  public static void main(String[] arguments) throws Exception {
    new Views().drain(arguments[0], arguments[1], arguments[2], arguments[3], Path.of(arguments[4]));
  }

  private void drain(String bootstrap, String topic, String results, String folder, Path campaigns)
      throws IOException, InterruptedException, ExecutionException {
    String group = "peers-" + System.currentTimeMillis();
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      Map<TopicPartition, Long> ends = ends(admin, topic);
      long wanted = ends.values().stream().mapToLong(Long::longValue).sum();
      try (KafkaStreams streams =
          new KafkaStreams(topology(topic, results, campaigns), configuration(bootstrap, group, folder))) {
        streams.setUncaughtExceptionHandler(
            fault -> {
              fault.printStackTrace();
              return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
        streams.start();
        // `kept` grows before `read` does, so it is final once `read` is.
        while (read.get() < wanted || counted.get() < kept.get()) {
          if (streams.state() == KafkaStreams.State.ERROR) {
            throw new IllegalStateException("the topology failed");
          }
          Thread.sleep(20);
        }
        if (!streams.close(Duration.ofMinutes(2))) {
          throw new IllegalStateException("it did not close");
        }
      }
      check(admin, group, ends);
    }
  }

  /** Everything is committed, or this fails. */
  private static void check(Admin admin, String group, Map<TopicPartition, Long> ends)
      throws InterruptedException, ExecutionException {
    var committed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    ends.forEach(
        (partition, end) -> {
          var offset = committed.get(partition);
          if (end > 0 && (offset == null || offset.offset() < end)) {
            throw new IllegalStateException(partition + " is committed to " + offset + ", not " + end);
          }
        });
  }

  private static Map<TopicPartition, Long> ends(Admin admin, String topic)
      throws InterruptedException, ExecutionException {
    int partitions = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
    var asked =
        IntStream.range(0, partitions)
            .boxed()
            .collect(Collectors.toMap(number -> new TopicPartition(topic, number), number -> OffsetSpec.latest()));
    return admin.listOffsets(asked).all().get().entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, entry -> entry.getValue().offset()));
  }

  private static Properties configuration(String bootstrap, String group, String folder) {
    Properties all = new Properties();
    all.put(StreamsConfig.APPLICATION_ID_CONFIG, group);
    all.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    all.put(StreamsConfig.STATE_DIR_CONFIG, folder);
    all.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
    all.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 64L << 20);
    all.put(StreamsConfig.producerPrefix("linger.ms"), 100);
    all.put(StreamsConfig.producerPrefix("batch.size"), 256 << 10);
    return all;
  }

  private Topology topology(String topic, String results, Path campaigns) throws IOException {
    Map<String, String> campaignOf;
    try (var lines = Files.lines(campaigns)) {
      campaignOf = lines.skip(1).map(line -> line.split(",")).collect(Collectors.toMap(row -> row[0], row -> row[1]));
    }
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(topic, Consumed.with(Serdes.ByteArray(), Json.reading(Event.class)).withTimestampExtractor(Event::time))
        .flatMap((key, event) -> views(event, campaignOf))
        .groupByKey(Grouped.with("views", Serdes.String(), Serdes.ByteArray()))
        .windowedBy(TimeWindows.ofSizeAndGrace(WINDOW, GRACE))
        .aggregate(
            () -> 0L,
            (campaign, event, views) -> {
              counted.incrementAndGet();
              return views + 1;
            },
            Materialized.with(Serdes.String(), Serdes.Long()))
        .toStream()
        .map((window, views) -> KeyValue.pair(window.key(), row(window.key(), window.window().startTime(), views)))
        .to(results, Produced.with(Serdes.String(), Serdes.ByteArray()));
    return builder.build();
  }

  private List<KeyValue<String, byte[]>> views(Event event, Map<String, String> campaignOf) {
    String campaign = event.event_type().equals("view") ? campaignOf.get(event.ad_id()) : null;
    if (campaign != null) {
      kept.incrementAndGet();
    }
    read.incrementAndGet();
    return campaign == null ? List.of() : List.of(KeyValue.pair(campaign, NOTHING));
  }

  private static byte[] row(String campaign, Instant began, long views) {
    String text = "{\"campaign\":\"" + campaign + "\",\"began_at\":\"" + began + "\",\"views\":" + views + "}";
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
