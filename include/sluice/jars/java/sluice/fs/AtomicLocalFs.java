package sluice.fs;

import com.globalmentor.apache.hadoop.fs.NakedLocalFileSystem;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.Path;
import org.apache.spark.network.util.JavaUtils;

/**
 * Local files for checkpoints, state and table commits: what goes through Hadoop's {@code FileContext}.
 *
 * <p>Two things are unlike Hadoop's own {@code LocalFs}. It asks the JVM where Hadoop starts a process per file, for want
 * of a native library. And a rename that must not replace anything is one system call that fails where the target
 * exists ({@code link}), where Hadoop looks first and renames afterwards: of two writers that both looked, the later one
 * replaces what the earlier one has committed. There are no checksum files: a file that is there is whole.
 *
 * <p>Where it is loaded, Spark removes its temporary folders in the JVM too.
 */
public class AtomicLocalFs extends DelegateToFileSystem {
  static {
    // All that Spark asks this for is whether to start `rm -rf`: once per snapshot of each partition's state.
    JavaUtils.isUnix = false;
  }

  /** Made by Hadoop, by reflection, for {@code fs.AbstractFileSystem.file.impl}. */
  public AtomicLocalFs(URI ignored, Configuration settings) throws IOException, URISyntaxException {
    super(FsConstants.LOCAL_FS_URI, new NakedLocalFileSystem(), settings, FsConstants.LOCAL_FS_URI.getScheme(), false);
  }

  /** Local paths have no port. */
  @Override
  public int getUriDefaultPort() {
    return -1;
  }

  /** Every name that the operating system takes is valid. */
  @Override
  public boolean isValidName(String name) {
    return true;
  }

  /** Hadoop runs {@code readlink} for every file; only a link needs it. */
  @Override
  public FileStatus getFileLinkStatus(Path path) throws IOException {
    return Files.isSymbolicLink(local(path)) ? super.getFileLinkStatus(path) : getFileStatus(path);
  }

  /** Rename, and replace what is there if that is wished: a reader sees the old file or the new one. */
  @Override
  public void renameInternal(Path from, Path to, boolean overwrite) throws IOException {
    if (overwrite) {
      forgetChecksum(local(to));
      Files.move(local(from), local(to), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    } else {
      renameInternal(from, to);
    }
  }

  /**
   * Rename, and replace nothing.
   *
   * @throws FileAlreadyExistsException there is a file of that name, which stays as it is
   */
  @Override
  public void renameInternal(Path from, Path to) throws IOException {
    try {
      if (Files.isRegularFile(local(from))) {
        link(local(from), local(to));
        unlink(local(from));
      } else {
        Files.move(local(from), local(to)); // a folder: nobody races for one
      }
    } catch (java.nio.file.FileAlreadyExistsException error) {
      throw new FileAlreadyExistsException(to + " exists; " + from + " was not renamed.");
    } catch (NoSuchFileException error) {
      throw new FileNotFoundException(error.getMessage());
    }
  }

  /** Give a file a second name, if that name is free. */
  protected void link(java.nio.file.Path from, java.nio.file.Path to) throws IOException {
    try {
      Files.createLink(to, from);
    } catch (NoSuchFileException | java.nio.file.FileAlreadyExistsException error) {
      throw error;
    } catch (FileSystemException | UnsupportedOperationException error) {
      if (Files.exists(to)) { // a disk without links: as Hadoop does it, look first
        throw new java.nio.file.FileAlreadyExistsException(to.toString());
      }
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  /** Take a name away; a crash before it leaves a temporary file behind, which nobody reads. */
  protected void unlink(java.nio.file.Path path) throws IOException {
    Files.deleteIfExists(path);
  }

  /** Remove what Hadoop's own class once kept beside a file: it would say that the new content is garbled. */
  private static void forgetChecksum(java.nio.file.Path path) throws IOException {
    Files.deleteIfExists(path.resolveSibling("." + path.getFileName() + ".crc"));
  }

  private static java.nio.file.Path local(Path path) {
    return java.nio.file.Path.of(path.toUri().getPath());
  }
}
