package shelltext

import (
	"path"
	"slices"
	"strings"
)

// inheritedPath is the text of PATH before the script assigns it.
const inheritedPath = fixedText + "$PATH" + fixedText

// systemFolders are folders of programs that a script does not write.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/opt", "/nix", "/snap", "/lib"}

// searchedFolders returns the folders in texts of PATH. A folder of the system is inheritedPath.
func searchedFolders(texts []string) (folders []string) {
	for _, text := range texts {
		for folder := range strings.SplitSeq(text, ":") {
			clean := path.Clean(folder)
			if isConstant(folder) && slices.ContainsFunc(systemFolders, func(system string) bool {
				return clean == system || strings.HasPrefix(clean, system+"/")
			}) {
				folder = inheritedPath
			}
			folders = append(folders, folder)
		}
	}
	return folders
}

// searchesFiles reports whether the script lets the shell find a program in a folder that is not one of the system, so
// that the name of a program may be that of a file that the script writes.
func (a *taintWalk) searchesFiles() bool {
	return slices.ContainsFunc(a.texts["PATH"], func(folder string) bool { return folder != inheritedPath })
}
