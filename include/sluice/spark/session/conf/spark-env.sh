# Read by Spark's own launcher (`spark-class`) just before it starts a JVM.
#
# Spark asks every JVM for an incubating module of Java that only MLlib has a use for (and does without), and Java warns
# of it at each start, in a line that no option suppresses. So the request is left out of the command. So is the folder
# of this script, which Spark puts into the class path: Java archives no classes of a class path that has folders.
set +a # a function of this script is nobody's variable
exec() {
  local argument kept=()
  for argument in "$@"; do
    [[ $argument == --add-modules=jdk.incubator.vector ]] || kept+=("${argument//:"$SPARK_CONF_DIR"\/:/:}")
  done
  builtin exec "${kept[@]}"
}
