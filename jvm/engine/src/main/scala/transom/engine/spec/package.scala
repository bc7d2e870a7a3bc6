package transom.engine

/** The message that Python sends, as types: what a window operator has to do, and nothing else.
  *
  * A spec checks itself when it is created. So each class behind this package may rely on valid
  * settings, and no class checks them again. Columns are numbers here: the host knows which
  * expression of the user a number refers to. The same names are used in Python and in the
  * message.
  */
package object spec
