import java.io.File;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Options.ChecksumOpt;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import sluice.fs.AtomicLocalFs;

/** Puts files in place as Spark and Delta do: with the power cut at the n-th file operation, or in a race. */
public final class Trial {
  private Trial() {}

  /** What cuts the power before the n-th file operation, and leaves its proof. */
  private static final class Power {
    static int left;
    static java.nio.file.Path proof;

    static void spend(String operation) {
      if (--left == 0) {
        try {
          Files.writeString(proof, operation);
        } catch (IOException error) {
          throw new AssertionError(error);
        }
        Runtime.getRuntime().halt(137);
      }
    }
  }

  /** The file system under trial, which tells of each operation before it is done. */
  public static final class TellingFs extends AtomicLocalFs {
    /** Made by Hadoop. */
    public TellingFs(URI uri, Configuration settings) throws IOException, URISyntaxException {
      super(uri, settings);
    }

    @Override
    public FSDataOutputStream createInternal(
        Path path,
        EnumSet<CreateFlag> flags,
        FsPermission permission,
        int buffer,
        short replicas,
        long block,
        Progressable progress,
        ChecksumOpt checksum,
        boolean parents)
        throws IOException {
      Power.spend("create");
      FSDataOutputStream made =
          super.createInternal(path, flags, permission, buffer, replicas, block, progress, checksum, parents);
      return new FSDataOutputStream(new Telling(made), null);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
      Power.spend("status");
      return super.getFileStatus(path);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
      Power.spend("delete");
      return super.delete(path, recursive);
    }

    @Override
    protected void link(java.nio.file.Path from, java.nio.file.Path to) throws IOException {
      Power.spend("link");
      super.link(from, to);
    }

    @Override
    protected void unlink(java.nio.file.Path path) throws IOException {
      Power.spend("unlink");
      super.unlink(path);
    }
  }

  /** A stream that writes in two halves. */
  private static final class Telling extends FilterOutputStream {
    Telling(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      int half = length / 2;
      Power.spend("write");
      out.write(bytes, from, half);
      out.flush();
      Power.spend("write the rest");
      out.write(bytes, from + half, length - half);
    }

    @Override
    public void close() throws IOException {
      Power.spend("close");
      super.close();
    }
  }

  private static Configuration settings(String fileSystem) {
    Configuration settings = new Configuration();
    settings.set("fs.AbstractFileSystem.file.impl", fileSystem);
    settings.set("fs.file.impl", "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem");
    return settings;
  }

  /** Put a file in place as a checkpoint's log does. */
  private static void checkpoint(Path file, String content, Configuration settings) throws IOException {
    CheckpointFileManager manager = CheckpointFileManager.create(file.getParent(), settings);
    var out = manager.createAtomic(file, false);
    try {
      out.write(content.getBytes(StandardCharsets.UTF_8));
      out.close();
    } catch (IOException error) {
      out.cancel();
      throw error;
    }
  }

  /** Put a file in place as a table's commit. */
  private static void commit(Path file, String content, Configuration settings) throws IOException {
    new io.delta.storage.HDFSLogStore(settings).write(file, List.of(content).iterator(), false, settings);
  }

  private static boolean put(String kind, Path file, String content, Configuration settings) throws IOException {
    try {
      if (kind.equals("commit")) {
        commit(file, content, settings);
      } else {
        checkpoint(file, content, settings);
      }
      return true;
    } catch (FileAlreadyExistsException | java.nio.file.FileAlreadyExistsException error) {
      return false;
    }
  }

  /** {@code cut KIND FILE CONTENT N PROOF}: prints "put" or "refused", unless the power is cut. */
  private static void cut(String[] words) throws IOException {
    Power.left = Integer.parseInt(words[4]);
    Power.proof = java.nio.file.Path.of(words[5]);
    System.out.println(put(words[1], new Path(words[2]), words[3], settings(TellingFs.class.getName())) ? "put" : "refused");
  }

  /** {@code remove FOLDER FILESYSTEM}: prints how many processes were started for it. */
  private static void remove(String[] words) throws Exception {
    Class.forName(words[2]);
    java.nio.file.Path file = java.nio.file.Path.of(words[1] + ".jfr");
    try (Recording recording = new Recording()) {
      recording.enable("jdk.ProcessStart");
      recording.start();
      JavaUtils.deleteRecursively(new File(words[1]));
      recording.stop();
      recording.dump(file);
    }
    System.out.println(RecordingFile.readAllEvents(file).size());
  }

  /** {@code race KIND FOLDER ROUNDS FILESYSTEM}: prints how many rounds had one winner, none, and several. */
  private static void race(String[] words) throws Exception {
    int rounds = Integer.parseInt(words[3]);
    int racers = 4;
    AtomicInteger[] winners = new AtomicInteger[rounds];
    CyclicBarrier start = new CyclicBarrier(racers);
    Thread[] threads = new Thread[racers];
    for (int round = 0; round < rounds; round++) {
      winners[round] = new AtomicInteger();
    }
    for (int racer = 0; racer < racers; racer++) {
      String content = "racer " + racer;
      threads[racer] =
          new Thread(
              () -> {
                for (int round = 0; round < rounds; round++) {
                  try {
                    start.await();
                    if (put(words[1], new Path(words[2], Integer.toString(round)), content, settings(words[4]))) {
                      winners[round].incrementAndGet();
                    }
                  } catch (Exception error) {
                    error.printStackTrace();
                    Runtime.getRuntime().halt(1);
                  }
                }
              });
      threads[racer].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    int[] counts = new int[racers + 1];
    for (AtomicInteger count : winners) {
      counts[count.get()]++;
    }
    System.out.println(counts[1] + " " + counts[0] + " " + (rounds - counts[0] - counts[1]));
  }

  public static void main(String[] words) throws Exception {
    if (words[0].equals("race")) {
      race(words);
    } else if (words[0].equals("remove")) {
      remove(words);
    } else {
      cut(words);
    }
  }
}
