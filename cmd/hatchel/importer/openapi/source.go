package openapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hatchel/internal/contentcoding"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/proxy"
	"hatchel/internal/publicip"
)

// Bounds of what one import reads.
const (
	maxSourceSize = 32 << 20
	maxFiles      = 10_000
	maxTotalSize  = 256 << 20
	fetchTimeout  = 30 * time.Second
)

// source reads the documents of one import: files below a root, or URLs. It is not safe for concurrent use.
type source struct {
	ctx        context.Context
	root       *os.Root // of files; nil if the document is a URL
	allowHosts []string // besides the host of the document
	single     bool     // no other document is read
	total      int
	files      int
}

// openSource finds the document. It returns its location: a path with slashes below the root, or a URL.
func openSource(ctx context.Context, o Options) (*source, string, error) {
	s := &source{ctx: ctx, allowHosts: o.AllowHosts}
	if isURL(o.Source) {
		return s, o.Source, nil
	}
	dir, name := cmp.Or(o.Root, filepath.Dir(o.Source)), "stdin"
	if o.Source == "-" {
		dir = cmp.Or(o.Root, ".")
	} else {
		absDir, err := filepath.Abs(dir)
		if err != nil {
			return nil, "", err
		}
		absFile, err := filepath.Abs(o.Source)
		if err != nil {
			return nil, "", err
		}
		rel, err := filepath.Rel(absDir, absFile)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, "", fmt.Errorf("%s is not below --root %s", o.Source, dir)
		}
		name = filepath.ToSlash(rel)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", fmt.Errorf("%s cannot be read: %w", dir, reasonOf(err))
	}
	s.root = root
	return s, name, nil
}

func (s *source) close() {
	if s.root != nil {
		s.root.Close()
	}
}

func isURL(name string) bool {
	return strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://")
}

// reasonOf removes the operation and the path from an error of package os.
func reasonOf(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// resolve returns the location that a reference in the document at base names.
func (s *source) resolve(base, ref string) (string, error) {
	if s.single {
		return "", errors.New("other documents are not read")
	}
	if isURL(base) || isURL(ref) {
		from, err := url.Parse(base)
		if err != nil {
			return "", err
		}
		to, err := from.Parse(ref)
		if err != nil {
			return "", fmt.Errorf("%q is not a URL", redactedReference(ref))
		}
		if to.Host != from.Host && !slices.Contains(s.allowHosts, to.Hostname()) {
			return "", fmt.Errorf("it refers to the host %s; allow that with --allow-host %s", to.Host, to.Hostname())
		}
		to.Fragment = ""
		return to.String(), nil
	}
	ref, _, _ = strings.Cut(ref, "?")
	name, err := url.PathUnescape(ref)
	if err != nil {
		return "", fmt.Errorf("%q is not a reference", redactedReference(ref))
	}
	joined := path.Join(path.Dir(base), name)
	if path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(joined)) {
		return "", fmt.Errorf("%s is above the folder of the document; allow a folder with --root",
			redactedReference(ref))
	}
	return joined, nil
}

// read returns the content of a document.
func (s *source) read(location string, stdin io.Reader) (src []byte, err error) {
	if s.files++; s.files > maxFiles {
		return nil, fmt.Errorf("the document has more than %d files", maxFiles)
	}
	switch {
	case isURL(location):
		src, err = s.fetch(location)
	case stdin != nil:
		src, err = readAll(stdin)
	default:
		src, err = s.readFile(location)
	}
	if err != nil {
		return nil, err
	}
	if s.total += len(src); s.total > maxTotalSize {
		return nil, fmt.Errorf("the files of the document have more than %d MiB together", maxTotalSize>>20)
	}
	return src, nil
}

func (s *source) readFile(location string) ([]byte, error) {
	if s.root == nil {
		return nil, errors.New("a document from a URL cannot refer to files")
	}
	name := filepath.FromSlash(location)
	info, err := s.root.Stat(name)
	if err != nil {
		return nil, reasonOf(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := s.root.Open(name)
	if err != nil {
		return nil, reasonOf(err)
	}
	defer f.Close()
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, maxSourceSize+1))
	if err == nil && len(src) > maxSourceSize {
		err = fmt.Errorf("it has more than %d MiB", maxSourceSize>>20)
	}
	return bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")), err
}

// fetch reads a URL. A host that --allow-host does not name must have a public address, and redirects stay on the host.
func (s *source) fetch(location string) ([]byte, error) {
	at, err := url.Parse(location)
	if err != nil || at.Host == "" {
		return nil, errors.New("it is not a URL")
	}
	transport := &http.Transport{
		DialContext: (&net.Dialer{Timeout: fetchTimeout}).DialContext, DisableKeepAlives: true,
	}
	proxy.Configure(transport)
	via, err := transport.Proxy(&http.Request{URL: at})
	switch {
	case err != nil:
		return nil, err
	case slices.Contains(s.allowHosts, at.Hostname()):
	case via == nil:
		transport.DialContext = publicip.Dialer(fetchTimeout).DialContext
	default: // the proxy resolves names, and decides which of them it connects to
		if ip, err := netip.ParseAddr(at.Hostname()); err == nil {
			if err := publicip.Check(ip); err != nil {
				return nil, reasonOfPrivate(err)
			}
		}
	}
	client := &http.Client{Transport: contentcoding.Transport{Next: transport}, Timeout: fetchTimeout,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			switch {
			case next.URL.Host != at.Host:
				return fmt.Errorf("it redirects to another host: %s", next.URL.Host)
			case at.Scheme == "https" && next.URL.Scheme != "https":
				return errors.New("it redirects from https to http")
			case len(via) > 5:
				return errors.New("it redirects more than 5 times")
			}
			return nil
		}}
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	request.Header.Set("Accept", "application/json, application/yaml, */*;q=0.5")
	response, err := client.Do(request)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which may contain a credential
		}
		return nil, reasonOfPrivate(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", response.Status)
	}
	return readAll(response.Body)
}

// reasonOfPrivate adds the flag to the refusal of an address that is not public.
func reasonOfPrivate(err error) error {
	if _, refused := errors.AsType[*publicip.PrivateError](err); refused {
		return fmt.Errorf("%w; allow the host with --allow-host", err)
	}
	return err
}

// Redacted returns a location without what may be a credential: user information and query.
func Redacted(location string) string {
	if !isURL(location) {
		return location
	}
	location, _, _ = strings.Cut(redactedReference(location), "#")
	return location
}

// redactedReference returns a reference without what may be a credential: user information and query.
func redactedReference(ref string) string {
	ref, fragment, hasFragment := strings.Cut(userInfo.ReplaceAllString(ref, "$1"), "#")
	if ref, _, _ = strings.Cut(ref, "?"); hasFragment {
		ref += "#" + fragment
	}
	return ref
}

var userInfo = lazyregexp.New(`^([^/]*//)[^/]*@`)
