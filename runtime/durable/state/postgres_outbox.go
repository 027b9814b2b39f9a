package state

import (
	"context"
	"time"

	"hatchel/internal/backoff"
	"hatchel/internal/queue"
	"hatchel/internal/service"
)

const (
	maxOutboxItems = 1 << 14
	maxBatchItems  = 1 << 10     // in one transaction
	closeTimeout   = time.Second // of Close, for what is not sent yet
)

// outbox is the items that this process sends. While one transaction is under way the next items gather, so that the
// transactions become larger when there is more to send, without a timer.
type outbox struct {
	queue  *queue.Queue[outgoing]
	sender *service.Group // the goroutine that sends
	writer envelopeWriter // belongs to that goroutine
}

// outgoing is an item with its receiver; empty for all.
type outgoing struct {
	to string
	item
	sent chan struct{} // closed when the item was sent; may be nil
}

// post has an item sent. It reports false when there is no room, as after a long time without the database; then
// watchers receive that any record may have changed.
func (p *Postgres) post(i outgoing) bool { return p.outbox.queue.Add(i) }

// sendItems sends all items. It tries again while the database is unavailable.
func (p *Postgres) sendItems(ctx context.Context) {
	for batch, missed := range p.outbox.queue.Batches(ctx, maxBatchItems) {
		if missed {
			batch = append(batch, outgoing{item: item{kind: changeItem}})
		}
		for range databaseBackoff.Attempts(ctx) {
			if p.sendBatch(ctx, batch) == nil {
				closeSent(batch)
				break
			}
		}
	}
}

// closeSent tells the callers who wait for it that a batch was sent.
func closeSent(batch []outgoing) {
	for _, i := range batch {
		if i.sent != nil {
			close(i.sent)
		}
	}
}

// sendBatch sends items in one transaction, which need not wait for the disk.
func (p *Postgres) sendBatch(ctx context.Context, batch []outgoing) error {
	writer := &p.outbox.writer
	if writer.seal == nil {
		secret, err := Secret(ctx, p)
		if err != nil {
			return err
		}
		if writer.seal, err = newEnvelopeSeal(secret, writer.name); err != nil {
			return err
		}
	}
	var channels, payloads []string
	open := map[string][]byte{} // items by receiver, of envelopes that have room
	seal := func(to string) {
		channels = append(channels, p.channelOf(to))
		payloads = append(payloads, writer.write(p.channelOf(to), open[to]))
	}
	for _, i := range batch {
		if len(open[i.to])+maxItemHeader+len(i.body) > maxSealedItems {
			seal(i.to)
			open[i.to] = nil
		}
		open[i.to] = appendItem(open[i.to], i.item)
	}
	for to := range open {
		seal(to)
	}
	return p.run(ctx, writes, func(ctx context.Context, _ session) error {
		const notify = "SELECT pg_notify(channel, payload), set_config('synchronous_commit', 'off', true) " +
			"FROM unnest($1::text[], $2::text[]) AS envelopes (channel, payload)"
		_, err := p.pool.Exec(ctx, notify, channels, payloads)
		return err
	})
}

// databaseBackoff is how often the database is tried again, by many processes at once.
var databaseBackoff = backoff.Policy{First: 50 * time.Millisecond, Max: 450 * time.Millisecond, Jitter: 1}
