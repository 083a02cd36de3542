import java.io.FileInputStream;
import java.util.Properties;

/** Prints the values 0, 1, 2, ... of a file of properties, each as the numbers of its UTF-16 code units. */
class ReadProperties {
    public static void main(String[] arguments) throws Exception {
        var properties = new Properties();
        try (var file = new FileInputStream(arguments[0])) {
            properties.load(file);
        }
        for (int at = 0; at < properties.size(); at++) {
            var line = new StringBuilder();
            properties.getProperty(String.valueOf(at)).chars().forEach(unit -> line.append(unit).append(' '));
            System.out.println(line);
        }
    }
}
