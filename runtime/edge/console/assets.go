package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed assets
var assetFiles embed.FS

const assetPath = "/console/assets/"

// asset is a file that browsers keep, because its address changes with it.
type asset struct {
	plain, packed []byte
	mediaType     string
}

// assets returns the files by name, and the digest of all, by which modules import each other.
var assets = sync.OnceValues(func() (map[string]*asset, string) {
	files, sum := map[string]*asset{}, sha256.New()
	fs.WalkDir(assetFiles, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		plain, err := assetFiles.ReadFile(name)
		sum.Write(plain)
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
		w.Write(plain)
		w.Close()
		mediaType := mime.TypeByExtension(path.Ext(name))
		if path.Ext(name) == ".js" {
			mediaType = "text/javascript; charset=utf-8"
		}
		files[path.Base(name)] = &asset{plain, packed.Bytes(), mediaType}
		return err
	})
	return files, hex.EncodeToString(sum.Sum(nil)[:8])
})

// assetAddress returns the address of a file.
func assetAddress(name string) string {
	_, digest := assets()
	return assetPath + digest + "/" + name
}

// StyleSheet returns the style sheet of all pages.
func StyleSheet() string {
	files, _ := assets()
	return string(files["console.css"].plain)
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	files, digest := assets()
	a := files[r.PathValue("name")]
	if a == nil || r.PathValue("digest") != digest {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", a.mediaType)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		w.Write(a.packed)
		return
	}
	w.Write(a.plain)
}
