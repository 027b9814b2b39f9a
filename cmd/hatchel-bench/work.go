package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	_ "github.com/mattn/go-sqlite3"
)

// arguments are those of every tool the benchmark calls; each row uses one or two of them.
type arguments struct {
	Name    string `json:"name"`
	Number  int    `json:"number"`
	ID      int    `json:"id"`
	Word    string `json:"word"`
	Minimum int    `json:"minimum"`
}

// item is a row of the table that the point query reads.
type item struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Price int    `json:"price"`
}

// work does what the tools of the benchmark do, as plainly as a Go program can, once for the floor
// and once for the server written with the official SDK. It is safe for concurrent use.
type work struct {
	upstream string
	client   *http.Client
	query    *sql.Stmt
	page     string
	list     []byte
}

// openWork opens what the named row needs: files of folder, and the upstream server at that URL.
func openWork(row, folder, upstream string) (*work, error) {
	w := &work{upstream: upstream}
	w.client = &http.Client{Transport: &http.Transport{MaxIdleConns: 256, MaxIdleConnsPerHost: 256}}
	var err error
	switch row {
	case "sqlite":
		var db *sql.DB
		if db, err = sql.Open("sqlite3", "file:"+filepath.Join(folder, "items.db")+"?mode=ro"); err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(4)
		db.SetMaxIdleConns(4)
		w.query, err = db.Prepare("SELECT id, name, price FROM items WHERE id = ?")
	case "big":
		var page []byte
		page, err = os.ReadFile(filepath.Join(folder, "page.txt"))
		w.page = string(page)
	}
	return w, err
}

func (w *work) greet(a arguments) string {
	return fmt.Sprintf("Hello %s, you are number %d in line.", a.Name, a.Number)
}

func (w *work) items(a arguments) ([]item, error) {
	rows, err := w.query.Query(a.ID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	items := []item{}
	for rows.Next() {
		var it item
		if err := rows.Scan(&it.ID, &it.Name, &it.Price); err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, rows.Err()
}

func (w *work) fetch(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.upstream+path, nil)
	if err != nil {
		return nil, err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("upstream answered %s", res.Status)
	}
	return io.ReadAll(res.Body)
}

func (w *work) note(ctx context.Context, a arguments) (string, error) {
	body, err := w.fetch(ctx, fmt.Sprintf("/notes/%d", a.ID))
	return string(body), err
}

func (w *work) readPage(a arguments) string {
	return a.Name + ": " + w.page
}

func (w *work) say(a arguments) (string, error) {
	out, err := exec.Command("/bin/echo", a.Word).Output()
	return string(out), err
}

func (w *work) largeOrders(ctx context.Context, a arguments) ([]any, error) {
	body, err := w.fetch(ctx, "/orders")
	if err != nil {
		return nil, err
	}
	var decoded any
	if err := json.Unmarshal(body, &decoded); err != nil {
		return nil, err
	}
	ids := []any{}
	for _, order := range decoded.(map[string]any)["orders"].([]any) {
		order := order.(map[string]any)
		if order["total"].(float64) >= float64(a.Minimum) {
			ids = append(ids, order["id"])
		}
	}
	return ids, nil
}

// noteText is the text of one note of the upstream server: 1 KB.
func noteText(id int) string {
	head := fmt.Sprintf("Note %d. ", id)
	return head + strings.Repeat("The quick brown fox jumps over the lazy dog. ", 23)[:1024-len(head)]
}

const orderCount = 5200

// ordersDocument is a JSON body of about 1 MB. Order n has the total n.
func ordersDocument() []byte {
	type line struct {
		SKU      string  `json:"sku"`
		Quantity int     `json:"quantity"`
		Price    float64 `json:"price"`
	}
	type order struct {
		ID       int    `json:"id"`
		Customer string `json:"customer"`
		Status   string `json:"status"`
		Total    int    `json:"total"`
		Paid     bool   `json:"paid"`
		Lines    []line `json:"lines"`
	}
	var document struct {
		Orders []order `json:"orders"`
	}
	for n := range orderCount {
		document.Orders = append(document.Orders, order{
			ID: 100000 + n, Customer: fmt.Sprintf("Customer number %d", n%97), Status: "shipped", Total: n,
			Paid:  n%3 == 0,
			Lines: []line{{fmt.Sprintf("SKU-%05d", n), n % 7, 12.5}, {fmt.Sprintf("SKU-%05d", n+1), n % 5, 99.95}},
		})
	}
	body, err := json.Marshal(document)
	if err != nil {
		panic(err) // nothing in it can fail to encode
	}
	return body
}
