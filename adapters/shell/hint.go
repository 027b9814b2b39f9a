package shell

import (
	"errors"
	"regexp"
)

// What programs say when the system refuses them a file, and when they find no network.
var (
	refusedFile    = regexp.MustCompile(`(?i)permission denied|operation not permitted|insufficient permissions|\bEACCES\b|\bEPERM\b`)
	refusedNetwork = regexp.MustCompile(`(?i)could(?: not|n't) (?:connect|resolve)|failed to connect|network is unreachable|name resolution|resolve host|\bsocket\b.*(?:permission denied|operation not permitted)`)
)

// Hints are for the log, where who writes the tool reads them. The model cannot change the sandbox.
var (
	errMayNeedNetwork = errors.New("the sandbox of the tool has no network, which may be why: sandbox { network = true } opens it")
	errMayNeedFiles   = errors.New("the sandbox of the tool may be why: beside the folder of the configuration and the system's files programs read what sandbox { read = […] } names, and they write to TMPDIR and what write = […] names")
)

// hint is what of the sandbox may be why programs failed that said this, or nil. It is a guess: the kernel tells nobody what it refuses.
func (c *confinement) hint(said string) error {
	switch {
	case c == nil:
		return nil
	case !c.network && refusedNetwork.MatchString(said):
		return errMayNeedNetwork
	case refusedFile.MatchString(said):
		return errMayNeedFiles
	}
	return nil
}
