// Package git keeps a folder of a remote git repository as directories, one for each commit.
//
// A repository is not trusted with more than its files: it is fetched over https or ssh by the git program, and its
// files are read from the object store and written by this package. Nothing is checked out, so no hook, filter,
// submodule or link of a repository has an effect.
package git

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"unicode"

	"hatchel/adapters/guard"
	"hatchel/internal/lazyregexp"
)

// Location is a folder of a revision of a remote repository.
type Location struct {
	URL    string // https, ssh or file, without credentials
	Folder string // as in fs.ValidPath; "." is the whole repository
	Ref    string // a branch, a tag, a full commit, or HEAD
	text   string
}

// String returns the location as it was given.
func (l Location) String() string { return l.text }

// Name returns a short name for the location: the last element of its folder, or of the path of its repository.
func (l Location) Name() string {
	name := path.Base(l.Folder)
	if name == "." {
		name = strings.TrimSuffix(path.Base(l.URL), ".git")
	}
	return notInNames.ReplaceAllString(name, "_")
}

var notInNames = lazyregexp.New(`[^A-Za-z0-9_-]+`)

const scheme = "git+"

// fileScheme is that of repositories of this machine, for trying what is served from a repository before it is pushed.
const fileScheme = "file"

// IsLocation reports whether an argument is meant as a location and not as a directory.
func IsLocation(arg string) bool { return strings.HasPrefix(arg, scheme) }

var validRef = lazyregexp.New(`^[A-Za-z0-9._/][A-Za-z0-9._/-]*$`)

// ParseLocation parses git+https://HOST/REPOSITORY//FOLDER?ref=REF, or the same with git+ssh, or with git+file and a
// repository of this machine, as in git+file:///home/ann/tools//prod. The folder and the ref may be omitted. The error
// is a phrase without credentials.
func ParseLocation(text string) (Location, error) {
	if err := guard.Supported(); err != nil {
		return Location{}, fmt.Errorf("git is a program, and %w", err)
	}
	u, err := url.Parse(strings.TrimPrefix(text, scheme))
	if err != nil {
		return Location{}, errors.New("it is not a valid URL") // the error of the parser quotes the password
	}
	if err := checkURL(u); err != nil {
		return Location{}, err
	}
	l := Location{Folder: ".", Ref: "HEAD", text: text}
	for name, values := range u.Query() {
		if name != "ref" || len(values) != 1 {
			return Location{}, errors.New("its query may only have one ref, as in ?ref=main")
		}
		l.Ref = values[0]
	}
	if !validRef.MatchString(l.Ref) {
		return Location{}, fmt.Errorf("the ref %q may only have the characters A-Z a-z 0-9 . _ / -, "+
			"and must not begin with -", l.Ref)
	}
	repository, folder, hasFolder := strings.Cut(u.EscapedPath(), "//")
	if hasFolder {
		if l.Folder, err = url.PathUnescape(strings.Trim(folder, "/")); err != nil || !fs.ValidPath(l.Folder) {
			return Location{}, fmt.Errorf("%q is not the path of a folder of the repository", folder)
		}
	}
	if strings.Trim(repository, "/") == "" {
		return Location{}, errors.New("it names no repository, as in git+https://git.example/tools.git//prod?ref=main")
	}
	remote := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
	l.URL = remote.String() + repository
	if u.Scheme == fileScheme {
		l.URL = fileScheme + "://" + repository
	}
	return l, nil
}

// checkURL refuses what must not reach git: other transports, options, credentials and control characters.
func checkURL(u *url.URL) error {
	_, hasPassword := u.User.Password()
	switch {
	case u.Scheme == fileScheme && (u.Host != "" || u.Opaque != "" || u.User != nil):
		return errors.New("it names no absolute path of this machine, as in git+file:///home/ann/tools//prod?ref=main")
	case u.Scheme != "https" && u.Scheme != "ssh" && u.Scheme != fileScheme:
		return fmt.Errorf("its transport is %q: only git+https, git+ssh and git+file are accepted", u.Scheme)
	case hasPassword || strings.Contains(u.User.Username(), ":"): // also after %3A
		return errors.New("its user part has a password, which other programs of this machine can read. " +
			"Remove it, and give it to git by a credential helper, by GIT_ASKPASS or by an SSH key")
	case u.User != nil && u.Scheme == "https":
		return errors.New("it has a user part, which may be a token. Remove it, and give the user and the " +
			"token to git by a credential helper or by GIT_ASKPASS")
	case u.Scheme != fileScheme && (u.Opaque != "" || u.Hostname() == ""):
		return errors.New("it names no host")
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }):
		return errors.New("its host has letters that are not ASCII. Write it as xn--…, as DNS has it")
	case strings.HasPrefix(u.Host, "-") || u.User != nil && strings.HasPrefix(u.User.Username(), "-"):
		return errors.New("its host or user begins with -")
	case u.Fragment != "" || u.RawFragment != "":
		return errors.New("it has a fragment. Name the revision with ?ref=")
	case !isPrintable(u.User.Username() + u.Host + u.Path):
		return errors.New("it has a character that cannot be printed")
	}
	return nil
}
