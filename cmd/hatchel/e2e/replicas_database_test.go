package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// startClusterBehind starts three processes, with blocks beside that of their state, that reach their database through a
// proxy.
func startClusterBehind(t *testing.T, blocks string) (*cluster, *proxy) {
	t.Helper()
	database, err := url.Parse(emptySchema(t))
	if err != nil {
		t.Fatal(err)
	}
	way := newProxy(t, database.Host)
	database.Host = way.at
	return newCluster(t, 3, postgresState+blocks, database.String()), way
}

// While the database is unavailable, sessions go on. What another process or the database has to know is refused with
// a time to repeat it at.
func TestReplicasServeSessionsWithoutTheirDatabase(t *testing.T) {
	t.Parallel()
	c, way := startClusterBehind(t, callers())
	w := (&wireClient{url: c.replicas[0].url, path: "/mcp", key: apiKeyOf("ann")}).open(t)
	stream, question := w.ask(t, nextNumber())
	way.disconnect()
	for i, r := range c.replicas {
		n := nextNumber()
		if status, body := w.at(r).status(http.MethodPost, callBodyOf("echo", n)); status != http.StatusOK || !strings.Contains(body, `"text":"`+n+`"`) {
			t.Errorf("a plain call at process %d: %d %s", i, status, body)
		}
		if status := w.at(r).open(t).ping(); status != http.StatusOK {
			t.Errorf("a new session at process %d: %d", i, status)
		}
	}
	for what, body := range map[string]string{
		"the answer for another process": answerTo(question, "late"),
		"a log level":                    `{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"error"}}`,
		"a subscription":                 `{"jsonrpc":"2.0","id":8,"method":"resources/subscribe","params":{"uri":"test://note"}}`,
	} {
		res, err := w.at(c.replicas[1]).send(http.MethodPost, body)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, Retry-After %q", what, res.Status, res.Header.Get("Retry-After"))
		}
	}
	way.connect()
	await(t, func() bool {
		status, _ := w.at(c.replicas[1]).status(http.MethodPost, answerTo(question, "late"))
		return status == http.StatusAccepted
	})
	stream.checkResult(t, "held late")
}

// An answer that arrives while the database is unavailable for a moment is kept until it is there again: clients do not
// repeat it.
func TestReplicasKeepAnAnswerUntilTheDatabaseIsThere(t *testing.T) {
	t.Parallel()
	c, way := startClusterBehind(t, "")
	w := (&wireClient{url: c.replicas[0].url, path: "/mcp"}).open(t)
	stream, question := w.ask(t, nextNumber())
	way.refuses.Store(true)
	way.disconnect()
	way.connect()
	answered := make(chan int, 1)
	go func() {
		status, _ := w.at(c.replicas[1]).status(http.MethodPost, answerTo(question, "kept"))
		answered <- status
	}()
	before := way.refused.Load()
	await(t, func() bool { return way.refused.Load() > before+3 })
	way.refuses.Store(false)
	if status := <-answered; status != http.StatusAccepted {
		t.Errorf("the answer is answered with %d", status)
	}
	stream.checkResult(t, "held kept")
}

// A client gives up its session when a stream that it returns for is refused. It is told to come again instead, and has
// the rest of the stream when the database is there.
func TestReplicasPostponeAStreamWithoutTheirDatabase(t *testing.T) {
	t.Parallel()
	c, way := startClusterBehind(t, "")
	w := (&wireClient{url: c.replicas[0].url, path: "/mcp"}).open(t)
	stream, question := w.ask(t, nextNumber())
	way.disconnect()
	seen := map[string]bool{stream.last: true}
	for _, r := range c.replicas[1:] {
		again, err := w.at(r).stream(http.MethodGet, "", "Last-Event-Id", stream.last)
		if err != nil {
			t.Fatal(err)
		}
		event, ok := <-again.all
		if !ok || event.id == "" || seen[event.id] {
			t.Errorf("a stream is postponed with %+v", event)
		}
		seen[event.id], stream.last = true, event.id
	}
	way.connect()
	if status, body := w.status(http.MethodPost, answerTo(question, "back")); status != http.StatusAccepted {
		t.Errorf("%d %s", status, body)
	}
	await(t, func() bool {
		again, err := w.at(c.replicas[1]).stream(http.MethodGet, "", "Last-Event-Id", stream.last)
		if err != nil {
			t.Fatal(err)
		}
		for event := range again.all {
			if len(event.message.Result.Content) == 1 && event.message.Result.Content[0].Text == "held back" {
				return true
			}
		}
		return false
	})
}

var listened = regexp.MustCompile(`LISTEN "([^"]+)"`)

// A role that may only connect to the database can listen and notify. It reads no answer, and settles no question with
// what it has heard or made up.
func TestReplicasHideAnswersFromOtherRolesOfTheDatabase(t *testing.T) {
	t.Parallel()
	super := os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")
	if super == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
	}
	c, way := startClusterBehind(t, callers())
	ctx := context.WithoutCancel(t.Context())
	admin, err := pgx.Connect(ctx, super)
	if err != nil {
		t.Fatal(err)
	}
	role := "test_" + strings.ToLower(rand.Text())
	if _, err := admin.Exec(ctx, "CREATE ROLE "+role+" LOGIN"); err != nil {
		t.Fatal(err)
	}
	stranger, err := url.Parse(super)
	if err != nil {
		t.Fatal(err)
	}
	stranger.User = url.User(role)
	conn, err := pgx.Connect(ctx, stranger.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close(ctx)
		admin.Exec(ctx, "DROP ROLE "+role)
		admin.Close(ctx)
	})
	var channels []string // of each of three processes, and one for all
	await(t, func() bool {
		way.mu.Lock()
		defer way.mu.Unlock()
		channels = nil
		for _, m := range listened.FindAllSubmatch(way.sent.Bytes(), -1) {
			channels = append(channels, string(m[1]))
		}
		slices.Sort(channels)
		channels = slices.Compact(channels)
		return len(channels) == 4
	})
	for _, channel := range channels {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			t.Fatal(err)
		}
	}

	w := (&wireClient{url: c.replicas[0].url, path: "/mcp", key: apiKeyOf("ann")}).open(t)
	const secret = "the-horse-of-the-mayor"
	stream, question := w.ask(t, nextNumber())
	if status, body := w.at(c.replicas[1]).status(http.MethodPost, answerTo(question, secret)); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	stream.checkResult(t, "held "+secret)
	if _, err := conn.Exec(ctx, "SELECT pg_notify($1, 'end')", channels[0]); err != nil {
		t.Fatal(err)
	}
	var payloads []string
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n.Payload == "end" {
			break
		}
		payloads = append(payloads, n.Payload)
	}
	if len(payloads) == 0 {
		t.Fatal("nothing was heard: the test proves nothing")
	}
	for _, payload := range payloads {
		for at := range min(4, len(payload)) {
			plain, _ := base64.RawURLEncoding.DecodeString(payload[at : at+(len(payload)-at)/4*4])
			if bytes.Contains(plain, []byte(secret)) || strings.Contains(payload, secret) || strings.Contains(payload, w.id) {
				t.Errorf("the role reads %q", payload)
			}
		}
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf("SELECT * FROM %s.hatchel_records", schemaOf(t, c.database))); err == nil {
		t.Error("the role reads the state")
	}

	stream, question = w.ask(t, nextNumber())
	for _, channel := range channels {
		for _, payload := range append(payloads, "", " ", "x", strings.Repeat("A", 7900), answerTo(question, "forged")) {
			if _, err := conn.Exec(ctx, "SELECT pg_notify($1, $2)", channel, payload); err != nil {
				t.Fatal(err)
			}
		}
	}
	if status, body := w.at(c.replicas[1]).status(http.MethodPost, answerTo(question, "right")); status != http.StatusAccepted {
		t.Errorf("%d %s", status, body)
	}
	stream.checkResult(t, "held right")
}

// schemaOf returns the schema of an address of emptySchema.
func schemaOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("search_path")
}
