package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hatchel/internal/publicip"
)

// Bounds of what is requested for clients, whose ids anybody can send.
const (
	fetchTimeout      = 5 * time.Second // of a document and its keys
	maxDocument       = 10 << 10        // bytes of a document, and of a key set
	maxResponseHead   = 16 << 10
	freshFor          = 5 * time.Minute // how long a document is used, if its server names no longer time
	maxFreshFor       = time.Hour
	failedFor         = 30 * time.Second
	fetchPeriod       = time.Minute
	maxFetches        = 60 // requests within a period
	maxNetworkFetches = 10 // of those, for one network
	maxDocuments      = 200
)

// errBusy is returned when too many requests were made.
var errBusy = errors.New("too many requests for documents")

// DocumentsOptions are the inputs of NewDocuments.
type DocumentsOptions struct {
	Log *slog.Logger
	Now func() time.Time

	// Dial connects to a host. It is nil but in tests: then only public addresses are connected to.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Roots are the authorities of certificates; nil for those of the machine.
	Roots *x509.CertPool
}

// Documents requests the documents of clients, and keeps them for a while. A process has one for all generations. Its
// methods may be called concurrently.
type Documents struct {
	o      DocumentsOptions
	client http.Client

	mu      sync.Mutex
	entries map[string]*entry // by the address; guarded by mu
	since   time.Time         // when the period of fetches began; guarded by mu
	fetches int               // in the period; guarded by mu
	made    map[string]int    // of fetches, those for each network; guarded by mu
}

// entry is a document, or why there is none. It is immutable when done is closed.
type entry struct {
	done    chan struct{}
	d       *document
	err     error
	fetched time.Time
	until   time.Time // when it is requested again; zero before it is done
	former  *entry    // what is used if too many requests were made; nil for none, and when it is done
}

// NewDocuments returns Documents that know none.
func NewDocuments(o DocumentsOptions) *Documents {
	if o.Dial == nil {
		o.Dial = publicip.Dialer(fetchTimeout).DialContext
	}
	return &Documents{o: o, entries: map[string]*entry{}, client: http.Client{
		Transport: &http.Transport{
			DialContext: o.Dial, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: maxResponseHead,
			TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
			// HTTP/1 alone: a server cannot push frames that nobody has asked for.
			TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// find returns the document at an address that the caller has checked. Concurrent requests share one. Of its keys, the
// host must be one that admits reports.
func (s *Documents) find(ctx context.Context, id, network string, admits func(host string) bool) (*document, error) {
	e, isNew := s.enter(id, network)
	switch {
	case e == nil:
		return nil, errBusy
	case isNew:
		s.load(ctx, id, network, e, admits)
	}
	select {
	case <-e.done:
		return e.d, e.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enter returns the entry of an address. A new one has to be loaded. It returns nil if no request may be made.
func (s *Documents) enter(id, network string) (e *entry, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	old := s.entries[id]
	if old != nil && (old.until.IsZero() || now.Before(old.until)) {
		return old, false
	}
	// Who sends many ids must not end the use of a document that was read.
	if old != nil && (old.d == nil || !now.Before(old.fetched.Add(maxFreshFor))) {
		old = nil
	}
	if !s.takeFetch(network, now) {
		return old, false
	}
	s.makeRoom(now)
	e = &entry{done: make(chan struct{}), former: old}
	s.entries[id] = e
	return e, true
}

// takeFetch counts a request, and reports whether it may be made.
func (s *Documents) takeFetch(network string, now time.Time) bool {
	if now.Sub(s.since) >= fetchPeriod {
		s.since, s.fetches, s.made = now, 0, map[string]int{}
	}
	if s.fetches >= maxFetches || s.made[network] >= maxNetworkFetches {
		return false
	}
	s.fetches++
	s.made[network]++
	return true
}

// makeRoom removes what is not used any more and, of too many entries, the failure or document that ends first.
func (s *Documents) makeRoom(now time.Time) {
	maps.DeleteFunc(s.entries, func(_ string, e *entry) bool {
		return !e.until.IsZero() && !now.Before(e.until) && (e.d == nil || !now.Before(e.fetched.Add(maxFreshFor)))
	})
	if len(s.entries) < maxDocuments {
		return
	}
	first := ""
	for id, e := range s.entries {
		if !e.until.IsZero() && (first == "" || e.until.Before(s.entries[first].until)) {
			first = id
		}
	}
	delete(s.entries, first)
}

// load requests a document for an entry. It does not end with the request of the client, because others wait for it.
func (s *Documents) load(ctx context.Context, id, network string, e *entry, admits func(string) bool) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	d, lasting, err := s.fetch(bounded, id, network, admits)
	s.mu.Lock()
	now := s.o.Now()
	e.d, e.err, e.fetched, e.until = d, err, now, now.Add(lasting)
	if errors.Is(err, errBusy) {
		e.until = now
		if e.former != nil {
			e.d, e.err, e.fetched = e.former.d, nil, e.former.fetched
		}
	}
	e.former = nil
	s.mu.Unlock()
	close(e.done)
	if err != nil {
		s.o.Log.Warn("client ID document refused", "client", id, "error", err.Error())
	}
}

// fetch requests a document and its keys, and returns how long the result is used.
func (s *Documents) fetch(ctx context.Context, id, network string, admits func(string) bool) (
	*document, time.Duration, error,
) {
	body, lasting, err := s.get(ctx, id)
	if err != nil {
		return nil, failedFor, err
	}
	d, keysURL, err := parseDocument(id, body)
	if err != nil {
		return nil, failedFor, err
	}
	if keysURL == "" {
		return d, lasting, nil
	}
	var problem string
	d.keysHost, problem = parseDocumentURL(keysURL)
	switch {
	case problem != "":
		return nil, failedFor, fmt.Errorf("its jwks_uri is not accepted: %s", problem)
	case !admits(d.keysHost):
		return nil, failedFor, fmt.Errorf("the host of its jwks_uri, %s, is not one of documents", d.keysHost)
	}
	s.mu.Lock()
	taken := s.takeFetch(network, s.o.Now())
	s.mu.Unlock()
	if !taken {
		return nil, failedFor, errBusy
	}
	set, _, err := s.get(ctx, keysURL)
	if err == nil {
		d.keys, err = keepKeys(set)
	}
	if err != nil {
		return nil, failedFor, fmt.Errorf("its keys: %w", err)
	}
	return d, lasting, nil
}

// get requests a JSON text, and returns how long it may be used.
func (s *Documents) get(ctx context.Context, location string) ([]byte, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "hatchel")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	coding := resp.Header.Get("Content-Encoding")
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, 0, fmt.Errorf("status %d", resp.StatusCode)
	case !isJSON(resp.Header.Get("Content-Type")):
		return nil, 0, errors.New("its Content-Type is not application/json")
	case coding != "" && coding != "identity":
		return nil, 0, errors.New("it has a Content-Encoding, which was not asked for")
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, 0, err
	case len(body) > maxDocument:
		return nil, 0, fmt.Errorf("it has more than %d bytes", maxDocument)
	}
	return body, freshness(resp.Header), nil
}

// isJSON reports whether a Content-Type is that of JSON.
func isJSON(header string) bool {
	kind, _, err := mime.ParseMediaType(header)
	return err == nil && (kind == "application/json" ||
		strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"))
}

// freshness returns how long a response is used: what its server permits, within bounds.
func freshness(h http.Header) time.Duration {
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h["Cache-Control"], ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		if name != "max-age" {
			continue
		}
		if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
			return min(max(time.Duration(seconds)*time.Second, freshFor), maxFreshFor)
		}
	}
	return freshFor
}
