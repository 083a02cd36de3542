package sluice.decoding;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One message of a record, as far as it is read: later values of a field replace earlier ones, or are merged. */
final class ProtobufNode {
  private static final Object[] NONE = {};

  private Object[] values = NONE;
  private Map<String, ProtobufMessage.Field> groups;

  /** Return a value: Long, Double, Boolean, UTF8String, bytes, a node, a list or a map; null if it is absent. */
  Object get(ProtobufMessage.Field field) {
    return field.place < values.length ? values[field.place] : null;
  }

  /** Take note that a field is there: of a group only the last one is. */
  void choose(ProtobufMessage.Field field) {
    if (field.oneof == null) {
      return;
    }
    groups = groups == null ? new HashMap<>() : groups;
    ProtobufMessage.Field before = groups.put(field.oneof, field);
    if (before != null && before != field && before.place < values.length) {
      values[before.place] = null;
    }
  }

  void set(ProtobufMessage message, ProtobufMessage.Field field, Object value) {
    if (values.length == 0) { // of a message without fields no room is made
      values = new Object[message.fields.size()];
    }
    values[field.place] = value;
  }

  @SuppressWarnings("unchecked")
  void append(ProtobufMessage message, ProtobufMessage.Field field, Object value) {
    List<Object> list = (List<Object>) get(field);
    if (list == null) {
      list = new ArrayList<>();
      set(message, field, list);
    }
    list.add(value);
  }

  @SuppressWarnings("unchecked")
  void put(ProtobufMessage message, ProtobufMessage.Field field, Object key, Object value) {
    Map<Object, Object> map = (Map<Object, Object>) get(field);
    if (map == null) {
      map = new LinkedHashMap<>();
      set(message, field, map);
    }
    map.put(key, value);
  }
}
