// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// memorySecrets is a secretAPI in memory with the resourceVersions of an API server. It keeps
// the requests.
type memorySecrets struct {
	secrets map[string]*corev1.Secret
	version int
	asked   []string
	// shown, if set, is called for every change, as a watch is.
	shown func(kind string, secret *corev1.Secret)
}

func (s *memorySecrets) next(kind string, secret *corev1.Secret) record {
	s.version++
	secret.ResourceVersion = strconv.Itoa(s.version)
	if secret.UID == "" {
		secret.UID = types.UID("uid-of-" + secret.ResourceVersion)
	}
	secret.Namespace = "prod"
	if s.shown != nil {
		s.shown(kind, secret.DeepCopy())
	}
	rec, _ := recordOf(secret)
	return rec
}

func (s *memorySecrets) ask(verb, name string) {
	s.asked = append(s.asked, strings.TrimSpace(verb+" "+strings.TrimPrefix(name, "sh.helm.release.v1.app.")))
}

func (s *memorySecrets) missing(name string) error {
	return apierrors.NewNotFound(corev1.Resource("secrets"), name)
}

func (s *memorySecrets) get(_ context.Context, name string) (*corev1.Secret, error) {
	s.ask("get", name)
	if secret, ok := s.secrets[name]; ok {
		return secret.DeepCopy(), nil
	}
	return nil, s.missing(name)
}

func (s *memorySecrets) list(_ context.Context, selector labels.Set) ([]record, string, error) {
	s.ask("list", "")
	var all []record
	for _, secret := range s.secrets {
		if rec, ok := recordOf(secret); ok && labels.SelectorFromSet(selector).Matches(labels.Set(secret.Labels)) {
			all = append(all, rec)
		}
	}
	return all, strconv.Itoa(s.version), nil
}

func (s *memorySecrets) create(_ context.Context, secret *corev1.Secret) (record, error) {
	s.ask("create", secret.Name)
	if _, ok := s.secrets[secret.Name]; ok {
		return record{}, apierrors.NewAlreadyExists(corev1.Resource("secrets"), secret.Name)
	}
	if s.secrets == nil {
		s.secrets = map[string]*corev1.Secret{}
	}
	s.secrets[secret.Name] = secret.DeepCopy()
	s.secrets[secret.Name].CreationTimestamp = metav1.Unix(int64(s.version), 0)
	return s.next("add", s.secrets[secret.Name]), nil
}

func (s *memorySecrets) update(_ context.Context, secret *corev1.Secret) (record, error) {
	s.ask("update", secret.Name)
	old, ok := s.secrets[secret.Name]
	if !ok {
		return record{}, s.missing(secret.Name)
	}
	s.secrets[secret.Name] = secret.DeepCopy()
	s.secrets[secret.Name].UID, s.secrets[secret.Name].CreationTimestamp = old.UID, old.CreationTimestamp
	return s.next("update", s.secrets[secret.Name]), nil
}

func (s *memorySecrets) merge(_ context.Context, name string, _ []byte) (record, error) {
	s.ask("patch", name)
	secret, ok := s.secrets[name]
	if !ok {
		return record{}, s.missing(name)
	}
	secret.Labels[helmv2.LabelApplied] = "1"
	return s.next("update", secret), nil
}

func (s *memorySecrets) delete(_ context.Context, name string) error {
	s.ask("delete", name)
	secret, ok := s.secrets[name]
	if !ok {
		return s.missing(name)
	}
	delete(s.secrets, name)
	s.next("delete", secret)
	return nil
}

// since returns what was asked since it was called last.
func (s *memorySecrets) since() []string {
	asked := s.asked
	s.asked = nil
	return asked
}

// indexedSecrets is memorySecrets with an index. Its watch delivers events when watch is called.
type indexedSecrets struct {
	memorySecrets
	index *Index
	cache *readCache
	held  []func()
}

func newIndexedSecrets(t *testing.T) *indexedSecrets {
	t.Helper()
	l := &indexedSecrets{index: newIndex("", nil), cache: newReadCache()}
	l.index.onDelete = func(uid types.UID) { l.cache.remove(uid) }
	if err := l.index.Replace(nil, "0"); err != nil {
		t.Fatal(err)
	}
	l.shown = func(kind string, secret *corev1.Secret) {
		seen := &metav1.PartialObjectMetadata{ObjectMeta: *secret.ObjectMeta.DeepCopy()}
		do := map[string]func(any) error{"add": l.index.Add, "update": l.index.Update, "delete": l.index.Delete}[kind]
		l.held = append(l.held, func() { _ = do(seen) })
	}
	return l
}

// watch shows what happened.
func (l *indexedSecrets) watch() {
	for _, show := range l.held {
		show()
	}
	l.held = nil
}

// recorder returns the storage of an action on prod/app.
func (l *indexedSecrets) recorder(t *testing.T) *Driver {
	t.Helper()
	d := openDriver(t.Context(), l.access("us"), time.Now)
	d.options = Options{UID: "uid-1"}
	return d
}

func (l *indexedSecrets) access(connection string) access {
	a := accessTo(&l.memorySecrets)
	a.index, a.cache, a.connection, a.key = l.index, l.cache, connection, keyOf("k")
	return a
}

func (l *indexedSecrets) history(t *testing.T, way string, recorded ...*helmv2.Snapshot) []release.Revision {
	t.Helper()
	h := &historyReader{access: l.access(way), ctx: t.Context(), recorded: recorded}
	all, err := h.revisions()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// make stores revisions as an upgrade does: the last is deployed, the others are
// superseded.
func (l *indexedSecrets) make(t *testing.T, versions int) {
	t.Helper()
	d := l.recorder(t)
	for v := 1; v <= versions; v++ {
		rls := revision(v, helmrelease.StatusPendingUpgrade, nil)
		if err := d.Create(Key("app", v), rls); err != nil {
			t.Fatal(err)
		}
		rls.Info.Status = helmrelease.StatusSuperseded
		if v == versions {
			rls.Info.Status = helmrelease.StatusDeployed
		}
		if err := d.Update(Key("app", v), rls); err != nil {
			t.Fatal(err)
		}
	}
	l.since()
}

// recorded is the snapshot that status holds of a revision.
func recorded(r release.Revision) *helmv2.Snapshot {
	return &helmv2.Snapshot{
		APIVersion: release.SnapshotScheme, Name: r.Name, Namespace: r.Namespace, Version: r.Version, Status: r.Status, Digest: r.Digest,
	}
}

// stale is a snapshot that the stored revision has outgrown, so that all are read.
func stale(version int) *helmv2.Snapshot {
	return &helmv2.Snapshot{APIVersion: release.SnapshotScheme, Name: "app", Namespace: "prod", Version: version, Digest: "sha256:other"}
}

func expect(t *testing.T, why string, l *indexedSecrets, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.since()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", why, diff)
	}
}

func TestHistoryOfOurOwnWritesIsNotRead(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 2)
	before := l.history(t, "us", stale(2))
	expect(t, "before the watch has shown anything", l)
	l.watch()
	after := l.history(t, "us", stale(2))
	expect(t, "after it has", l)
	if diff := cmp.Diff(before, after); diff != "" || len(after) != 2 || after[0].Status != helmv2.StatusDeployed {
		t.Errorf("the watch changed what is known (-before +after):\n%s", diff)
	}
	// What another process reads of it is the same.
	l.cache = newReadCache()
	if diff := cmp.Diff(after, l.history(t, "us", stale(2))); diff != "" {
		t.Errorf("what was remembered is not what is stored (-remembered +stored):\n%s", diff)
	}
}

func TestHistoryIsReadOnce(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 3)
	l.watch()
	l.cache = newReadCache()
	newest := stale(3)
	all := l.history(t, "us", newest)
	expect(t, "nothing fits the record: all are read", l, "get v3", "get v2", "get v1")
	l.cache = newReadCache()
	inSync := []*helmv2.Snapshot{recorded(all[0]), recorded(all[1])}
	some := l.history(t, "us", inSync...)
	expect(t, "in sync: the newest is read", l, "get v3")
	if some[0].Unread || !some[1].Unread || some[2].Digest != "" || some[2].Version != 1 || some[2].Status != helmv2.StatusSuperseded || some[2].Owner != "uid-1" {
		t.Errorf("%+v", some)
	}
	if l.history(t, "us", inSync...); len(l.asked) > 0 {
		t.Errorf("asked again: %q", l.asked)
	}
	l.history(t, "them", inSync...)
	expect(t, "another connection sends its own request", l, "get v3")
	l.history(t, "them", inSync...)
	expect(t, "once", l)
	if l.history(t, "", inSync...); len(l.since()) != 1 || len(l.history(t, "", inSync...)) != 3 || len(l.since()) != 1 {
		t.Error("nothing is remembered of a way without a name")
	}
}

func TestHistoryNoticesWhatOthersWrite(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 1)
	l.watch()
	deployed := recorded(l.history(t, "us")[0])
	l.since()
	// Another client sets the status to failed.
	secret := l.secrets[Key("app", 1)]
	secret.Labels["status"] = "failed"
	l.next("update", secret)
	if l.history(t, "us", deployed); len(l.since()) != 0 {
		t.Error("a request before the event of the watch")
	}
	l.watch()
	l.history(t, "us", deployed)
	expect(t, "it is another version", l, "get v1")
}

func TestIndexIsNotBelievedAgainstTheRecord(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 1)
	l.watch()
	one := recorded(l.history(t, "us")[0])
	l.since()
	other := l.recorder(t)
	other.index = nil
	two := revision(2, helmrelease.StatusDeployed, nil)
	if err := other.Create(Key("app", 2), two); err != nil {
		t.Fatal(err)
	}
	l.since()
	if all := l.history(t, "us", one); len(all) != 1 {
		t.Errorf("the index shows what it was told: %+v", all)
	}
	if all := l.history(t, "us", stale(2), one); len(all) != 2 {
		t.Errorf("status knows more than the index: %+v", all)
	}
	expect(t, "it is behind, so the server is asked; what was written is remembered", l, "list")
	l.history(t, "us", stale(2), one)
	expect(t, "and the index knows it now", l)
}

// TestNothingIsStoredNorRecorded: the user of the index sends no list, another user sends one,
// because its permissions are not known. A list is also sent after a write has met a revision
// that the watch has not shown.
func TestNothingIsStoredNorRecorded(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	look := func(ours bool) []release.Revision {
		t.Helper()
		h := &historyReader{access: l.access("us"), ctx: t.Context()}
		h.ownIndex = ours
		all, err := h.revisions()
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	look(true)
	expect(t, "made the index", l)
	look(false)
	expect(t, "another user", l, "list")

	other := l.recorder(t)
	other.index = nil
	if err := other.Create(Key("app", 1), revision(1, helmrelease.StatusDeployed, nil)); err != nil {
		t.Fatal(err)
	}
	l.since()
	look(true)
	expect(t, "before the event of the watch", l)
	err := l.recorder(t).Create(Key("app", 1), revision(1, helmrelease.StatusPendingInstall, nil))
	if !errors.Is(err, driver.ErrReleaseExists) || !strings.Contains(err.Error(), "another client") {
		t.Errorf("the number is taken: %v", err)
	}
	l.since()
	if all := look(true); len(all) != 1 {
		t.Errorf("the revision of another process is not seen: %+v", all)
	}
	expect(t, "a write has met it", l, "list")
	look(false)
	expect(t, "it is not recorded", l, "list")
	one := recorded(look(true)[0])
	l.since()
	l.history(t, "us", one)
	expect(t, "the index is believed again", l)
}

func TestHistoryOfWhatIsGone(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 1)
	l.watch()
	one := recorded(l.history(t, "us")[0])
	l.cache = newReadCache()
	delete(l.secrets, Key("app", 1))
	h := &historyReader{access: l.access("us"), ctx: t.Context(), recorded: helmv2.Snapshots{one}}
	if _, err := h.revisions(); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want one that tells that it is gone", err)
	}
	uninstalled := *one
	uninstalled.Status = helmv2.StatusUninstalled
	if err := l.recorder(t).api.delete(t.Context(), "x"); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	l.index.noteDelete("prod", mustRecord(t, l.index))
	l.since()
	if all := l.history(t, "us", &uninstalled); len(all) != 0 || len(l.since()) != 0 {
		t.Errorf("nothing is stored, as is recorded: %+v", all)
	}
}

func mustRecord(t *testing.T, x *Index) record {
	t.Helper()
	all, ok := x.records("prod", "app")
	if !ok || len(all) != 1 {
		t.Fatalf("index: %v, %t", all, ok)
	}
	return all[0]
}

func TestIndexKnowsWhatWeDid(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 2)
	d := l.recorder(t)
	if _, err := d.Query(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Delete(Key("app", 1)); err != nil {
		t.Fatal(err)
	}
	versions := func() (all []int) {
		stored, _ := l.index.records("prod", "app")
		for _, rec := range stored {
			all = append(all, rec.version())
		}
		return all
	}
	if diff := cmp.Diff([]int{2}, versions()); diff != "" {
		t.Errorf("before the watch (-want +got):\n%s", diff)
	}
	for i, show := range l.held {
		show()
		if diff := cmp.Diff([]int{2}, versions()); diff != "" {
			t.Errorf("after %d of %d events, which are old news (-want +got):\n%s", i+1, len(l.held), diff)
		}
	}
	if len(l.index.gone) != 0 {
		t.Errorf("kept for ever: %v", l.index.gone)
	}
	l.held = nil
	// The number is taken again, by another Secret.
	if err := d.Create(Key("app", 1), revision(1, helmrelease.StatusDeployed, nil)); err != nil {
		t.Fatal(err)
	}
	l.watch()
	if diff := cmp.Diff([]int{2, 1}, versions()); diff != "" {
		t.Errorf("made anew (-want +got):\n%s", diff)
	}
}

func TestIndexStartsOver(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 2)
	old := []any{}
	for _, secret := range l.secrets {
		old = append(old, &metav1.PartialObjectMetadata{ObjectMeta: *secret.ObjectMeta.DeepCopy()})
	}
	at := strconv.Itoa(l.version)
	d := l.recorder(t)
	if _, err := d.Query(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Delete(Key("app", 1)); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(Key("app", 3), revision(3, helmrelease.StatusDeployed, nil)); err != nil {
		t.Fatal(err)
	}
	// A list that was made before all this.
	if err := l.index.Replace(old, at); err != nil {
		t.Fatal(err)
	}
	stored, _ := l.index.records("prod", "app")
	var versions []int
	for _, rec := range stored {
		versions = append(versions, rec.version())
	}
	if diff := cmp.Diff([]int{3, 2}, versions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// And one that was made after it, of which a deletion was missed.
	if err := l.index.Replace(nil, strconv.Itoa(l.version+1)); err != nil {
		t.Fatal(err)
	}
	if stored, ok := l.index.records("prod", "app"); !ok || len(stored) != 0 || len(l.index.releases) != 0 {
		t.Errorf("left: %v", stored)
	}
}

// TestIndexSwapsAtOnce: a release that exists before and after a new list exists for all
// concurrent readers.
func TestIndexSwapsAtOnce(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 2)
	l.watch()
	var listed []any
	for v := range 2000 {
		listed = append(listed, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: Key("other", v+1), UID: types.UID(strconv.Itoa(v)), Labels: map[string]string{"name": "other"},
		}})
	}
	for _, secret := range l.secrets {
		listed = append(listed, &metav1.PartialObjectMetadata{ObjectMeta: *secret.ObjectMeta.DeepCopy()})
	}
	at, done := strconv.Itoa(l.version), make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			if err := l.index.Replace(listed, at); err != nil {
				t.Error(err)
			}
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
		}
		if all, ok := l.index.records("prod", "app"); !ok || len(all) != 2 {
			t.Errorf("%d revisions are known during a new list, want 2", len(all))
			<-done
			return
		}
	}
}

// TestLiveHistory: the index does not know the release, for it is behind, and status agrees.
func TestLiveHistory(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	other := l.recorder(t)
	other.index = nil
	if err := other.Create(Key("app", 1), revision(1, helmrelease.StatusDeployed, nil)); err != nil {
		t.Fatal(err)
	}
	l.since()
	uninstalled := &helmv2.Snapshot{Name: "app", Namespace: "prod", Version: 1, Status: helmv2.StatusUninstalled}
	h := &historyReader{access: l.access("us"), ctx: t.Context(), recorded: helmv2.Snapshots{uninstalled}}
	if all, err := h.history(); err != nil || len(all) != 0 {
		t.Fatalf("the index shows %+v, %v", all, err)
	}
	expect(t, "the index and status agree", l)
	h.live = true
	if all, err := h.history(); err != nil || len(all) != 1 {
		t.Errorf("the API server has one revision: %+v, %v", all, err)
	}
	expect(t, "what is stored is read", l, "list")
	if all, _ := l.index.records("prod", "app"); len(all) != 1 {
		t.Errorf("the index did not learn of %+v", all)
	}
}

func TestIndexOfNothing(t *testing.T) {
	t.Parallel()
	var none *Index
	none.noteWrite("prod", record{UID: "1"})
	none.noteDelete("prod", record{UID: "1"})
	none.noteList("prod", "app", nil, "1")
	unsynced := newIndex("", nil)
	unsynced.noteWrite("prod", record{UID: "1", Labels: map[string]string{"name": "app"}})
	unsynced.noteDelete("prod", record{UID: "1"})
	elsewhere := newIndex("stage", nil)
	if err := elsewhere.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]*Index{"none": none, "not synced": unsynced, "of another namespace": elsewhere} {
		if _, ok := x.records("prod", "app"); ok {
			t.Errorf("an index %s knows", name)
		}
	}
	if len(unsynced.gone)+len(unsynced.releases) > 0 {
		t.Error("before it watches, an index gathers what nothing takes away")
	}
	if err := elsewhere.Add("what is no object"); err != nil || elsewhere.Resync() != nil {
		t.Error(err)
	}
}

func TestRecordVersion(t *testing.T) {
	t.Parallel()
	for want, rec := range map[int]record{
		7:  {Name: "sh.helm.release.v1.app.v6", Labels: map[string]string{"version": "7"}},
		6:  {Name: "sh.helm.release.v1.app.v6", Labels: map[string]string{"version": "x"}},
		12: {Name: "sh.helm.release.v1.app.v12"},
		0:  {Name: "app"},
	} {
		if got := rec.version(); got != want {
			t.Errorf("%+v: %d, want %d", rec, got, want)
		}
	}
}

// TestActionReadsWhatItNeeds: the newest and the deployed revision, and nothing
// twice.
func TestActionReadsWhatItNeeds(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 4)
	l.watch()
	// 3 is deployed and 4 failed.
	for v, status := range map[int]helmrelease.Status{3: helmrelease.StatusDeployed, 4: helmrelease.StatusFailed} {
		if err := l.recorder(t).Update(Key("app", v), revision(v, status, nil)); err != nil {
			t.Fatal(err)
		}
	}
	l.watch()
	l.since()
	d := l.recorder(t)
	all, err := d.Query(map[string]string{"name": "app", "owner": "helm"})
	if err != nil || len(all) != 4 {
		t.Fatalf("%d revisions, %v", len(all), err)
	}
	expect(t, "newest and deployed", l, "get v4", "get v3")
	deployed, err := d.Query(map[string]string{"name": "app", "owner": "helm", "status": "deployed"})
	if err != nil || len(deployed) != 1 || deployed[0].Version != 3 || deployed[0].Manifest == "" || deployed[0] == all[1] {
		t.Fatalf("deployed: %+v, %v", deployed, err)
	}
	if err := d.Update(Key("app", 2), all[2]); err == nil || !strings.Contains(err.Error(), "was not read") {
		t.Errorf("what Helm was never shown was stored again: %v", err)
	}
	expect(t, "nothing more", l)
	deployed[0].Info.Status = helmrelease.StatusSuperseded
	if again, err := d.Get(Key("app", 3)); err != nil || again.Info.Status != helmrelease.StatusDeployed {
		t.Errorf("Helm changed what is known to be stored: %+v, %v", again, err)
	}
	if err := d.Update(Key("app", 3), deployed[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Query(map[string]string{"status": "deployed"}); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("deployed: %v", err)
	}
	if rls, err := d.Get(Key("app", 2)); err != nil || rls.Manifest == "" {
		t.Errorf("%v, %v", rls, err)
	}
	if rls, err := d.Delete(Key("app", 1)); err != nil || rls.Version != 1 || rls.Name != "app" {
		t.Errorf("%v, %v", rls, err)
	}
	if _, err := d.Delete(Key("app", 1)); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Error(err)
	}
	expect(t, "one request each", l, "update v3", "get v2", "delete v1", "delete v1")
}

// TestActionFindsOutThatTheIndexIsBehind: what it shows was deleted.
func TestActionFindsOutThatTheIndexIsBehind(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 2)
	l.watch()
	delete(l.secrets, Key("app", 2))
	all, err := l.recorder(t).Query(map[string]string{"name": "app"})
	if err != nil || len(all) != 1 || all[0].Version != 1 || all[0].Manifest == "" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestApplyMethodIsCached: how older revisions were applied is looked up by
// every upgrade that applies in the client.
func TestApplyMethodIsCached(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	d := l.recorder(t)
	d.SetApplyMethod(ServerSide)
	for v := 1; v <= 2; v++ {
		if err := d.Create(Key("app", v), revision(v, helmrelease.StatusDeployed, nil)); err != nil {
			t.Fatal(err)
		}
	}
	l.watch()
	l.since()
	for _, want := range []string{"", "get v1"} {
		d := l.recorder(t)
		if _, err := d.Query(map[string]string{"status": "nothing"}); !errors.Is(err, driver.ErrReleaseNotFound) {
			t.Fatal(err)
		}
		if d.ApplyMethod(1) != ServerSide || d.ApplyMethod(9) != "" {
			t.Error("how revision 1 was applied is not known")
		}
		if got := strings.Join(l.since(), ", "); got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
		l.cache = newReadCache()
	}
}

func TestAppliedIsCached(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	d := l.recorder(t)
	if err := d.Create(Key("app", 1), revision(1, helmrelease.StatusPendingInstall, nil)); err != nil {
		t.Fatal(err)
	}
	if err := d.StoreApplied(); err != nil {
		t.Fatal(err)
	}
	l.since()
	if all := l.history(t, "us", stale(1)); len(all) != 1 || !all[0].Applied {
		t.Errorf("%+v", all)
	}
	expect(t, "it was our own write", l)
}

func TestIndexedLabels(t *testing.T) {
	t.Parallel()
	all := map[string]string{"name": "app", "owner": "helm", "team": "a", "pintle.dev/applied": "1", "modifiedAt": "5"}
	before := maps.Clone(all)
	want := map[string]string{"name": "app", "pintle.dev/applied": "1", "modifiedAt": "5"}
	if diff := cmp.Diff(want, indexedLabels(all)); diff != "" || !maps.Equal(all, before) {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDeletedRevisionsLeaveTheReadCache: the memory of a controller must not grow with every
// revision that it has ever made.
func TestDeletedRevisionsLeaveTheReadCache(t *testing.T) {
	t.Parallel()
	l := newIndexedSecrets(t)
	l.make(t, 3)
	if l.cache.revisions.Len() != 3 {
		t.Fatalf("%d are remembered", l.cache.revisions.Len())
	}
	d := l.recorder(t)
	if _, err := d.Query(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Delete(Key("app", 1)); err != nil || l.cache.revisions.Len() != 2 {
		t.Errorf("one was deleted here, but %d are remembered; %v", l.cache.revisions.Len(), err)
	}
	l.watch()
	if err := l.delete(t.Context(), Key("app", 2)); err != nil {
		t.Fatal(err)
	}
	if l.watch(); l.cache.revisions.Len() != 1 {
		t.Errorf("one was deleted elsewhere, but %d are remembered", l.cache.revisions.Len())
	}
}
