// The one place where transom's version is declared.
ThisBuild / version := "0.1.0"
ThisBuild / scalaVersion := "2.13.18"
ThisBuild / organization := "io.transom"
ThisBuild / organizationName := "The transom authors"
ThisBuild / licenses := List(License.Apache2)
// Developers of sbt need an address. The project has none of its own yet, nor a home page or scm.
ThisBuild / pomExtra :=
  <developers><developer><name>{organizationName.value}</name></developer></developers>
ThisBuild / versionScheme := Some("semver-spec")

val sparkVersion = "4.2.0"
val munitVersion = "1.2.4"

// A directory of Spark's jars that the tests run on, in place of the Spark they are compiled with.
val sparkJars = sys.env.get("SPARK_JARS").map(file)

val compilerOptions = Seq(
  "-encoding",
  "utf-8",
  "-release",
  "17",
  "-deprecation",
  "-feature",
  "-unchecked",
  "-Xlint",
  "-Wdead-code",
  "-Werror",
  // Within a method only: what is inlined from another file is not compiled anew with that file.
  "-opt:local")

// What Spark needs opened on JDK 17, as its own launcher does.
val sparkJavaOptions = Seq(
  "java.lang",
  "java.lang.invoke",
  "java.lang.reflect",
  "java.io",
  "java.net",
  "java.nio",
  "java.util",
  "java.util.concurrent",
  "java.util.concurrent.atomic",
  "sun.nio.ch",
  "sun.nio.cs",
  "sun.security.action",
  "sun.util.calendar")
  .map(opened => s"--add-opens=java.base/$opened=ALL-UNNAMED") :+
  "-Djdk.reflect.useDirectMethodHandle=false"

val testLibraries = Seq(
  "org.scalameta" %% "munit" % munitVersion % Test,
  "org.scalameta" %% "munit-scalacheck" % "1.2.0" % Test,
  "com.lihaoyi" %% "ujson" % "4.3.2" % Test)

val common = Seq(
  scalacOptions ++= compilerOptions,
  Compile / doc / scalacOptions -= "-Werror",
  javacOptions ++= Seq("-encoding", "utf-8", "--release", "17", "-Xlint:all", "-Werror"),
  Test / fork := true,
  Test / baseDirectory := (ThisBuild / baseDirectory).value,
  // What a forked program prints is its own, without sbt's marks.
  Test / outputStrategy := Some(StdoutOutput),
  Test / javaOptions ++= Seq("-Xmx1g"))

val writePythonVersion = taskKey[Unit]("Writes python/transom/_version.py")
val checkPythonVersion = taskKey[Unit]("Fails if python/transom/_version.py is stale")

lazy val root = project
  .in(file("."))
  .aggregate(engine, spark, crashing, benchmarks)
  .settings(
    name := "transom-root",
    publish / skip := true,
    writePythonVersion := Version.writePython(baseDirectory.value, version.value),
    checkPythonVersion := {
      if (!Version.isCurrent(baseDirectory.value, version.value)) {
        sys.error("python/transom/_version.py differs from build.sbt's version: run make build")
      }
    })

lazy val engine = project
  .in(file("jvm/engine"))
  .settings(common)
  .settings(
    name := "transom-engine",
    publish / skip := true,
    libraryDependencies ++= testLibraries,
    libraryDependencies += "com.tngtech.archunit" % "archunit" % "1.4.2" % Test,
    Test / testForkedParallel := true,
    // ArchUnit logs by SLF4J, which warns if no logger is on the class path.
    Test / javaOptions += "-Dslf4j.internal.verbosity=ERROR")

lazy val spark = project
  .in(file("jvm/spark"))
  // Internal: the engine's classes are inside the published jar, so the pom must not name it.
  .dependsOn(engine % "compile-internal;test-internal->test")
  .settings(common)
  .settings(
    name := "transom",
    description := "Event-time windows for PySpark: the part that runs on the JVM",
    libraryDependencies ++= testLibraries,
    libraryDependencies += "org.apache.spark" %% "spark-sql" % sparkVersion % Provided,
    // It has its own copies of what it depends on.
    libraryDependencies +=
      ("org.apache.spark" %% "spark-connect" % sparkVersion % Provided).intransitive(),
    // The Scala library is Spark's: what Spark runs with is what we run with.
    autoScalaLibrary := false,
    Compile / packageBin / mappings ++= (engine / Compile / packageBin / mappings).value,
    Compile / packageBin / mappings +=
      (ThisBuild / baseDirectory).value / "LICENSE" -> "META-INF/LICENSE",
    Compile / packageSrc / mappings ++= (engine / Compile / packageSrc / mappings).value,
    Compile / sourceGenerators += Def.task {
      val file = (Compile / sourceManaged).value / "BuildInfo.scala"
      IO.write(file, Version.scalaSource(version.value))
      Seq(file)
    }.taskValue,
    Compile / resourceGenerators += Def.task {
      val target = (Compile / resourceManaged).value / "transom"
      Seq("error-conditions.json", "sql-functions.json").map { name =>
        IO.copyFile((ThisBuild / baseDirectory).value / "spec" / name, target / name)
        target / name
      }
    }.taskValue,
    Test / javaOptions ++= sparkJavaOptions,
    Test / fullClasspath := {
      val compiledWith = Classpaths.managedJars(Provided, classpathTypes.value, update.value)
      val own = (Test / fullClasspath).value
      sparkJars.fold(own) { jars =>
        own.filterNot(compiledWith.contains) ++ (jars * "*.jar").classpath
      }
    })

// For tests only: crashes streaming queries at their durable writes, and reads local files quickly.
lazy val crashing = project
  .in(file("jvm/crashing"))
  .settings(common)
  .settings(
    name := "transom-crashing",
    publish / skip := true,
    libraryDependencies += "org.apache.spark" %% "spark-sql" % sparkVersion % Provided,
    autoScalaLibrary := false)

lazy val benchmarks = project
  .in(file("benchmarks/jmh"))
  .enablePlugins(JmhPlugin)
  .dependsOn(engine)
  .settings(common)
  .settings(name := "transom-benchmarks", publish / skip := true)
