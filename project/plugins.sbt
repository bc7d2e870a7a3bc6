addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.5.6")
addSbtPlugin("pl.project13.scala" % "sbt-jmh" % "0.4.8")

// These libraries make the jar smaller.
libraryDependencies ++= Seq(
  "org.ow2.asm" % "asm" % "9.8",
  "org.ow2.asm" % "asm-commons" % "9.8",
  "org.apache.commons" % "commons-compress" % "1.28.0",
  "com.github.luccappellaro" % "jzopfli" % "0.0.4")
