// Package osfile does with files what systems do in different ways.
package osfile
