package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkCommit refuses a commit that has no valid signature, or does not descend from the served one, if signatures are
// required.
func (r *Repository) checkCommit(ctx context.Context, commit string) error {
	if r.signers == "" {
		return nil
	}
	if err := r.checkSignature(ctx, commit); err != nil {
		return err
	}
	if r.commit == "" || r.commit == commit {
		return nil
	}
	if _, err := r.git(ctx, "merge-base", "--is-ancestor", r.commit, commit); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("it does not descend from the served commit %s", r.commit))
	}
	return nil
}

// checkSignature accepts only signatures by SSH keys of the allowed signers, not by keys in a keyring of the user.
func (r *Repository) checkSignature(ctx context.Context, commit string) error {
	cmd := r.command(ctx, "-c", "gpg.ssh.allowedSignersFile="+r.signers, "-c", "gpg.ssh.program=ssh-keygen",
		"-c", "gpg.minTrustLevel=fully", "-c", "gpg.program=false", "-c", "gpg.openpgp.program=false",
		"-c", "gpg.x509.program=false", "verify-commit", commit)
	var stderr limited
	cmd.Stderr = &stderr
	if cmd.Run() == nil {
		return nil
	}
	refusal := "it has no signature by a key of " + r.signers
	if why := explainSignature(stderr.String()); why != "" {
		refusal += ": " + why
	}
	return cmp.Or(ctx.Err(), errors.New(refusal))
}

// explainSignature returns why git does not accept a signature, by what it and ssh-keygen have written, such as the
// number of a line of the allowed signers that cannot be read. It is empty for a commit without a signature.
func explainSignature(stderr string) string {
	var causes []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSuffix(removeControls(line), ".")
		isValid := strings.HasPrefix(line, "Good ") // ssh-keygen says so of keys that nobody allows, too
		if line != "" && !isValid && !slices.Contains(causes, line) {
			causes = append(causes, line)
		}
	}
	return strings.Join(causes, "; ")
}
