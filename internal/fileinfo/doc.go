// Package fileinfo has what systems record of a file beyond fs.FileInfo.
package fileinfo
