package sluice.tables;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * See {@link TableVersions}.
 *
 * <p>In a bucket a question costs some 20 ms, and a list of a long log a request for each thousand commits. So the log
 * is listed once, and asked for the next commit by its name from then on. It is listed again now and then: a driver that
 * slept for longer than a log keeps commits would ask for one that is gone.
 */
final class VersionStream implements MicroBatchStream {
  private static final String COMMIT = "\\d{20}\\.json";
  private static final long LISTED_EACH = Duration.ofMinutes(10).toNanos();

  private final String name;
  private final Path commits;
  private final java.nio.file.Path begun;
  private final FileSystem files;
  private long next;
  private long listed;

  VersionStream(String name, String table, String checkpoint, Configuration hadoop) {
    this.name = name;
    this.commits = new Path(table, "_delta_log");
    this.begun = java.nio.file.Path.of(checkpoint.replaceFirst("^file:/+", "/"), "0");
    try {
      this.files = commits.getFileSystem(hadoop);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
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
    try {
      if (next == 0 || System.nanoTime() - listed > LISTED_EACH) {
        next = listedNext();
        listed = System.nanoTime();
      }
      while (next > 0 && files.exists(new Path(commits, String.format("%020d.json", next)))) {
        next++;
      }
      return new VersionOffset(name, next);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private long listedNext() throws IOException {
    try {
      return Arrays.stream(files.listStatus(commits)).mapToLong(file -> next(file.getPath())).max().orElse(0);
    } catch (FileNotFoundException missing) {
      return 0;
    }
  }

  private static long next(Path file) {
    String commit = file.getName();
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
