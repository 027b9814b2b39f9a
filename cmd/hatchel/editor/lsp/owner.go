package lsp

import "hatchel/internal/osfile"

// configurationFolder answers hatchel/folder: the URI of the configuration directory of an open document, or null for a
// document of another program. It is no part of the protocol; the extension for VS Code asks it before it gives a file
// a language.
func configurationFolder(v *view, _ *documentParams) (string, *responseError) {
	return osfile.URI(v.project.Dir), nil
}
