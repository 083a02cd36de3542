package sluice.tables;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** See {@link TableVersions}. */
final class VersionStream implements MicroBatchStream {
  private static final String COMMIT = "\\d{20}\\.json";

  private final String name;
  private final Path commits;
  private final Path begun;

  VersionStream(String name, String table, String checkpoint) {
    this.name = name;
    this.commits = Path.of(table, "_delta_log");
    this.begun = Path.of(checkpoint.replaceFirst("^file:/+", "/"), "0");
  }

  /** Puts on record that it begins with the first version: Spark itself only records where batches end. */
  @Override
  public Offset initialOffset() {
    VersionOffset first = new VersionOffset(name, 0);
    try {
      Files.createDirectories(begun.getParent());
      Files.writeString(begun, first.json());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return first;
  }

  @Override
  public Offset latestOffset() {
    try (Stream<Path> files = Files.list(commits)) {
      return new VersionOffset(name, files.mapToLong(VersionStream::next).max().orElse(0));
    } catch (NoSuchFileException missing) {
      return new VersionOffset(name, 0);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static long next(Path file) {
    String commit = file.getFileName().toString();
    return commit.matches(COMMIT) ? Long.parseLong(commit.substring(0, 20)) + 1 : 0;
  }

  @Override
  public Offset deserializeOffset(String json) {
    return VersionOffset.of(name, json);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return new InputPartition[0];
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return partition -> {
      throw new UnsupportedOperationException("there is nothing to read");
    };
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}
}
