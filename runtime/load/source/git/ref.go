package git

import (
	"context"
	"fmt"
	"strings"

	"hatchel/internal/lazyregexp"
)

var fullCommit = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// findRef returns the full name of the ref at the remote, and the object that it names. A name that both a branch and a
// tag have is refused: git would take the tag, and who may push tags could replace a branch that others protect.
func (r *Repository) findRef(ctx context.Context) (name, object string, err error) {
	names := []string{"refs/heads/" + r.Ref, "refs/tags/" + r.Ref}
	switch {
	case fullCommit.MatchString(r.Ref):
		return r.Ref, r.Ref, nil
	case r.Ref == "HEAD", strings.HasPrefix(r.Ref, "refs/"):
		names = []string{r.Ref}
	}
	list, err := r.git(ctx, append([]string{"ls-remote", "--quiet", "--", r.URL}, names...)...)
	if err != nil {
		return "", "", err
	}
	objects := map[string]string{} // by the name; git also lists names that only end with one of these
	for line := range strings.Lines(list) {
		object, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		objects[name] = object
	}
	for _, n := range names {
		switch object := objects[n]; {
		case object != "" && name != "":
			return "", "", fmt.Errorf("%s is a branch and a tag. Write ?ref=%s or ?ref=%s", r.Ref, names[0], names[1])
		case object != "":
			name = n
		}
	}
	if name == "" {
		return "", "", fmt.Errorf("it has no branch and no tag %s", r.Ref)
	}
	return name, objects[name], nil
}
