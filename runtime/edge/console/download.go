package console

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	downloadPath = "/console/downloads/"
	downloadLife = 5 * time.Minute
	maxDownloads = 16
)

// downloads keeps the latest results that are too large for a page, in this process.
type downloads struct {
	mu   sync.Mutex
	kept []download // the oldest first; guarded by mu
}

type download struct {
	id, session, text string
	until             time.Time
}

// keep returns the id under which a session can download a text.
func (d *downloads) keep(session, text string, now time.Time) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept) == maxDownloads {
		d.kept = d.kept[1:]
	}
	d.kept = append(d.kept, download{rand.Text(), session, text, now.Add(downloadLife)})
	return d.kept[len(d.kept)-1].id
}

func (d *downloads) find(session, id string, now time.Time) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.kept {
		if one.id == id && one.session == session && now.Before(one.until) {
			return one.text, true
		}
	}
	return "", false
}

// download sends a result that was too large for a page.
func (c *Console) download(q *request) (*answer, error) {
	text, ok := c.downloads.find(q.session.ID, q.PathValue("id"), q.now)
	if !ok {
		return nil, notFound("The result is not kept any more")
	}
	send(q, "result.txt", text)
	return nil, nil
}

// send sends a text as a file to be downloaded.
func send(q *request, name, text string) {
	h := q.writer.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	q.writer.Write([]byte(text))
}
