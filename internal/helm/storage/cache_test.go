// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/internal/release"
)

// TestReadCacheSize: a revision that replaces another one is not counted twice, and removed
// revisions are not counted.
func TestReadCacheSize(t *testing.T) {
	m := newReadCache()
	note := func(uid types.UID, description string) {
		rec := record{UID: uid, ResourceVersion: "1"}
		m.put("way", rec, cachedRevision{revision: release.Revision{Description: description, Tests: map[string]release.TestRun{"a": {}}}})
	}
	if n, bytes := m.stats(); n != 0 || bytes != 0 {
		t.Errorf("nothing is %d revisions of %d bytes", n, bytes)
	}
	note("a", "")
	_, one := m.stats()
	note("a", strings.Repeat("x", 1000))
	if n, bytes := m.stats(); n != 1 || bytes != one+1000 || one < 300 || one > 1500 {
		t.Errorf("%d revisions take %d bytes, one %d", n, bytes, one)
	}
	note("b", "")
	if n, bytes := m.stats(); n != 2 || bytes != 2*one+1000 {
		t.Errorf("%d revisions take %d bytes", n, bytes)
	}
	m.remove("a")
	m.remove("b")
	if n, bytes := m.stats(); n != 0 || bytes != 0 {
		t.Errorf("%d revisions of %d bytes are left", n, bytes)
	}
}

// TestDeletedEventEmptiesTheReadCache: the read cache of a store does not keep revisions whose
// deletion the watch has shown.
func TestDeletedEventEmptiesTheReadCache(t *testing.T) {
	index := newIndex("", nil)
	s := New(index, nil, time.Now)
	gone := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: Key("app", 1), Namespace: "prod", UID: "uid-1", ResourceVersion: "1"}}
	rec, _ := recordOf(gone)
	s.cache.put("us", rec, cachedRevision{})
	if n, _ := s.CacheStats(); n != 1 {
		t.Fatalf("%d revisions are cached", n)
	}
	if err := index.Delete(gone); err != nil {
		t.Fatal(err)
	}
	if n, _ := s.CacheStats(); n != 0 {
		t.Errorf("%d revisions are cached", n)
	}
}

// TestReadCacheSecrets: a Secret is returned as it was read, to the connection that has read it,
// as long as no newer version is known.
func TestReadCacheSecrets(t *testing.T) {
	read := func(m *readCache, name, version string, size int) {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: version, Labels: map[string]string{"a": name}},
			Data:       map[string][]byte{dataKey: make([]byte, size), "other": make([]byte, size)},
		}
		rec, _ := recordOf(secret)
		m.put("us", rec, cachedRevision{})
		m.putSecret("us", "prod", secret)
	}
	m := newReadCache()
	m.putSecret("us", "prod", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "app"}})
	if got := m.secret("us", "prod", "app"); got != nil {
		t.Errorf("of what nothing is known, there is %v", got)
	}
	m.put("us", record{UID: "uid-other", ResourceVersion: "1"}, cachedRevision{})
	m.putSecret("", "prod", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "app"}})
	if m.secretBytes != 0 {
		t.Errorf("of what came by no known way, %d bytes are kept", m.secretBytes)
	}
	read(m, "app", "1", 10)
	if got := m.secret("us", "prod", "app"); got == nil || got.Labels["a"] != "app" || len(got.Data) != 1 || len(got.Data[dataKey]) != 10 {
		t.Errorf("there is %v", got)
	}
	for _, other := range []secretKey{{"them", "prod", "app"}, {"us", "test", "app"}, {"us", "prod", "web"}} {
		if got := m.secret(other.connection, other.namespace, other.name); got != nil {
			t.Errorf("%v: there is %v", other, got)
		}
	}
	for name, news := range map[string]func(){
		"Written":           func() { m.put("us", record{UID: "uid-app", ResourceVersion: "2"}, cachedRevision{}) },
		"ReadByAnother":     func() { m.put("them", record{UID: "uid-app", ResourceVersion: "1"}, cachedRevision{}) },
		"Deleted":           func() { m.remove("uid-app") },
		"PushedOut":         func() { read(m, "web", "1", maxSecretBytes-secretOverhead-1) },
		"LargerThanTheRoom": func() { read(m, "app", "1", maxSecretBytes) },
	} {
		read(m, "app", "1", 10)
		if news(); m.secret("us", "prod", "app") != nil {
			t.Errorf("%s: it is there still", name)
		}
		if _, bytes := m.stats(); bytes > maxSecretBytes+10_000 {
			t.Errorf("%s: %d bytes are taken", name, bytes)
		}
	}
	read(m, "web", "1", 10)
	read(m, "app", "1", 10)
	read(m, "app", "2", 20)
	m.remove("uid-web")
	m.secret("us", "prod", "web")
	if got := m.secret("us", "prod", "app"); got == nil || got.ResourceVersion != "2" || m.secretBytes != 20+secretOverhead {
		t.Errorf("there is %v, taking %d bytes", got, m.secretBytes)
	}
	if _, bytes := m.stats(); bytes != m.bytes+20+secretOverhead {
		t.Errorf("all takes %d bytes, but bodies %d and the rest %d", bytes, m.secretBytes, m.bytes)
	}
}

// connected implements connection.
type connected struct {
	genericclioptions.RESTClientGetter
	local, impersonates bool
}

func (connected) ID() string           { return "id" }
func (c connected) Local() bool        { return c.local }
func (c connected) Impersonates() bool { return c.impersonates }

// TestConnectionOf: only the user of the index's watch may rely on the index alone.
func TestConnectionOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		getter      genericclioptions.RESTClientGetter
		id          string
		local, ours bool
	}{
		"Own":           {connected{local: true}, "id", true, true},
		"SomebodyElse":  {connected{local: true, impersonates: true}, "id", true, false},
		"Elsewhere":     {connected{}, "id", false, false},
		"NotConnection": {nil, "", false, false},
	} {
		id, local, ours := connectionOf(tc.getter)
		if id != tc.id || local != tc.local || ours != tc.ours {
			t.Errorf("%s: %q, local %t, ours %t", name, id, local, ours)
		}
	}
}
