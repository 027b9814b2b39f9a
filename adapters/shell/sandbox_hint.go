package shell

import (
	"errors"
	"regexp"
)

// Messages that programs write when the kernel denies access to a file, or when they find no
// network.
var (
	fileDenied = regexp.MustCompile(`(?i)permission denied|operation not permitted|insufficient permissions|` +
		`\bEACCES\b|\bEPERM\b`)
	networkDenied = regexp.MustCompile(`(?i)could(?: not|n't) (?:connect|resolve)|failed to connect|network is ` +
		`unreachable|name resolution|resolve host|\bsocket\b.*(?:permission denied|operation not permitted)`)
)

// Hints are for the log, which the author of the tool reads. The model cannot change the sandbox.
var (
	errNoNetworkHint = errors.New("the sandbox of the tool has no network, which may be the reason: sandbox { " +
		"network = true } allows it")
	errFileHint = errors.New("the sandbox of the tool may be the reason: besides the configuration directory " +
		"and the system's files, programs read what sandbox { read = […] } names, and write to TMPDIR and what " +
		"write = […] names")
)

// sandboxHint returns how the sandbox may be the reason of a failure with an output, or nil. It is
// a guess: the kernel does not report what it denies.
func (p *commandPlan) sandboxHint(output string) error {
	switch {
	case p.sandbox == nil:
		return nil
	case !p.sandbox.Network && networkDenied.MatchString(output):
		return errNoNetworkHint
	case fileDenied.MatchString(output):
		return errFileHint
	}
	return nil
}
