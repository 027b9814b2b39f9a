// Package source reads the configuration directory and reports when it changes.
//
// [Folder.Snapshot] returns all files as they are at one moment, as an fs.FS. [Folder.Watch] calls
// back whenever the folder reads differently than its last snapshot.
package source
