// Package editor answers the questions of editors about a configuration: what stands at a position, what it means and
// where it is declared. [Parse] reads a file, [Language] knows the blocks and arguments, from the specs that decode
// them, and a [Project] adds what a load knows. It opens and runs nothing.
package editor
