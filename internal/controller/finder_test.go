// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

const kubeconfig = `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"k","cluster":{"server":"https://elsewhere"}}],"users":[{"name":"u","user":{"token":"hunter22"}}],
"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}]}`

func kubeconfigIn(key, content string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "there"}, Data: map[string][]byte{key: []byte(content)}}
}

func elsewhere(key string) *helmv2.KubeConfigReference {
	return &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "there", Key: key}}
}

// described refers to a ConfigMap that describes a cluster.
var described = &helmv2.KubeConfigReference{ConfigMapRef: &helmv2.LocalObjectReference{Name: "there"}}

func describing(provider string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "there"}, Data: map[string]string{
		"provider": provider, "address": "elsewhere", "serviceAccountName": "tenant",
	}}
}

func inCloud(account string) *corev1.ConfigMap {
	cm := describing("gcp")
	cm.Data = map[string]string{"provider": "gcp", "cluster": "projects/p/locations/l/clusters/c", "serviceAccountName": account}
	return cm
}

func namespaceOf(name string, ending bool) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"kubernetes"}}}
	if ending {
		ns.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return ns
}

func TestFind(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no"))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "tenant"}}
	type want struct {
		host, user  string
		unreachable string
		reason      string
		says        []string
	}
	missing := []string{"'value' or 'value.yaml'", "Secret 'apps/there'", "not found"}
	const orphan = "annotation pintle.dev/orphan"
	cases := map[string]struct {
		reason  string
		spec    helmv2.HelmReleaseSpec
		usually string
		deleted bool
		// ending is true if the namespace is being deleted.
		ending  bool
		objects []client.Object
		err     error
		want    want
	}{
		"Oneself":      {reason: "no ServiceAccount is named", want: want{host: "http://local"}},
		"Named":        {reason: "the spec says who", spec: helmv2.HelmReleaseSpec{ServiceAccountName: "tenant"}, want: want{host: "http://local", user: "system:serviceaccount:apps:tenant"}},
		"Default":      {reason: "the default counts", usually: "usual", want: want{host: "http://local", user: "system:serviceaccount:apps:usual"}},
		"NamedOverAll": {reason: "the spec wins", usually: "usual", spec: helmv2.HelmReleaseSpec{ServiceAccountName: "tenant"}, want: want{host: "http://local", user: "system:serviceaccount:apps:tenant"}},
		"Remote": {
			reason: "the first default key", spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")},
			objects: []client.Object{kubeconfigIn("value", kubeconfig)}, want: want{host: "https://elsewhere"},
		},
		"RemoteYAML": {
			reason: "the second default key", spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")},
			objects: []client.Object{kubeconfigIn("value.yaml", kubeconfig)}, want: want{host: "https://elsewhere"},
		},
		"RemoteKey": {
			reason: "the key that is named", spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("mine")},
			objects: []client.Object{kubeconfigIn("mine", kubeconfig)}, want: want{host: "https://elsewhere"},
		},
		"RemoteUser": {
			reason: "impersonation works there too", spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere(""), ServiceAccountName: "tenant"},
			objects: []client.Object{kubeconfigIn("value", kubeconfig)}, want: want{host: "https://elsewhere", user: "system:serviceaccount:apps:tenant"},
		},
		"NoSecret": {
			reason: "it may come", spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")},
			want: want{reason: helmv2.ReasonRESTClientError, says: missing},
		},
		"NoKey": {
			reason: "only the key that is named counts", spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("mine")},
			objects: []client.Object{kubeconfigIn("value", kubeconfig)},
			want:    want{reason: helmv2.ReasonRESTClientError, says: []string{"key 'mine'", "Secret 'apps/there'", "no such key"}},
		},
		"EmptyKey": {
			reason: "nothing must not lead to the controller's own cluster", spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")},
			objects: []client.Object{kubeconfigIn("value", "")},
			want:    want{reason: helmv2.ReasonRESTClientError, says: []string{"Secret 'apps/there'", "empty"}},
		},
		"Unusable": {
			reason: "the part is named, and nothing quoted", spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")},
			objects: []client.Object{kubeconfigIn("value", strings.Replace(kubeconfig, `"token"`, `"tokenFile"`, 1))},
			want:    want{reason: helmv2.ReasonRESTClientError, says: []string{"Secret 'apps/there'", "users[].user.tokenFile"}},
		},
		"ConfigMap": {
			reason: "it leads where it says", spec: helmv2.HelmReleaseSpec{KubeConfig: described, ServiceAccountName: "a"},
			objects: []client.Object{describing("generic")},
			want:    want{host: "https://elsewhere:443", user: "system:serviceaccount:apps:a"},
		},
		"NoConfigMap": {
			reason: "it must not lead to the controller's own cluster", spec: helmv2.HelmReleaseSpec{KubeConfig: described},
			want: want{reason: helmv2.ReasonRESTClientError, says: []string{"ConfigMap 'apps/there'", "not found"}},
		},
		"BadConfigMap": {
			reason: "the key is named", spec: helmv2.HelmReleaseSpec{KubeConfig: described}, objects: []client.Object{describing("ovh")},
			want: want{reason: helmv2.ReasonRESTClientError, says: []string{"ConfigMap 'apps/there': provider: aws, azure, gcp or generic"}},
		},
		"CloudAsNobody": {
			reason: "who is meant has to be there", spec: helmv2.HelmReleaseSpec{KubeConfig: described}, objects: []client.Object{inCloud("tenant")},
			want: want{reason: helmv2.ReasonRESTClientError, says: []string{"ConfigMap 'apps/there'", `serviceaccounts "tenant" not found`}},
		},
		"DeletedCloudAsNobody": {
			reason: "no tokens are issued any more", deleted: true, ending: true, spec: helmv2.HelmReleaseSpec{KubeConfig: described}, objects: []client.Object{inCloud("tenant")},
			want: want{unreachable: "ConfigMap 'apps/there': serviceaccounts \"tenant\" not found"},
		},
		"NoReference": {
			reason: "nor must that", spec: helmv2.HelmReleaseSpec{KubeConfig: &helmv2.KubeConfigReference{}},
			want: want{reason: helmv2.ReasonRESTClientError, says: []string{"neither secretRef nor configMapRef"}},
		},
		"DeletedNoConfigMap": {
			reason: "the way to the release was removed", deleted: true, ending: true, spec: helmv2.HelmReleaseSpec{KubeConfig: described},
			want: want{unreachable: "ConfigMap 'apps/there': configmaps \"there\" not found"},
		},
		"DeletedNoTokens": {
			reason: "whose tokens lead there is gone", deleted: true, ending: true, spec: helmv2.HelmReleaseSpec{KubeConfig: described},
			objects: []client.Object{describing("generic")},
			want:    want{unreachable: "ConfigMap 'apps/there': serviceaccounts \"tenant\" not found"},
		},
		"DeletedConfigMap": {
			reason: "it can be uninstalled", deleted: true, spec: helmv2.HelmReleaseSpec{KubeConfig: described},
			objects: []client.Object{describing("generic"), account},
			want:    want{host: "https://elsewhere:443"},
		},
		"DeletedNoSecret": {
			reason: "the way to the release was removed", deleted: true, ending: true, spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")},
			want: want{unreachable: "kubeconfig in key 'value' or 'value.yaml' of Secret 'apps/there': secrets \"there\" not found"},
		},
		"DeletedUnusable": {
			reason: "the Secret can be corrected", deleted: true, spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")},
			objects: []client.Object{kubeconfigIn("value", "nonsense")},
			want:    want{reason: helmv2.ReasonUninstallFailed, says: []string{"Secret 'apps/there'"}},
		},
		"DeletedUnreadable": {
			reason: "it may be there", deleted: true, spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")}, err: forbidden,
			want: want{reason: helmv2.ReasonUninstallFailed, says: []string{"Secret 'apps/there'", "forbidden"}},
		},
		"DeletedNoAccount": {
			reason: "no identity may uninstall any more", deleted: true, ending: true, spec: helmv2.HelmReleaseSpec{ServiceAccountName: "tenant"},
			want: want{unreachable: "ServiceAccount 'apps/tenant': serviceaccounts \"tenant\" not found"},
		},
		"DeletedNoDefaultAccount": {
			reason: "the same", deleted: true, ending: true, usually: "usual",
			want: want{unreachable: "ServiceAccount 'apps/usual': serviceaccounts \"usual\" not found"},
		},
		"DeletedOnlyNoAccount": {
			reason: "it may be restored", deleted: true, spec: helmv2.HelmReleaseSpec{ServiceAccountName: "tenant"},
			want: want{reason: helmv2.ReasonUninstallFailed, says: append([]string{"ServiceAccount 'apps/tenant'", "not found"}, orphan)},
		},
		"DeletedOnlyNoSecret": {
			reason: "the same", deleted: true, spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")},
			want: want{reason: helmv2.ReasonUninstallFailed, says: append(missing, orphan)},
		},
		"DeletedOnlyNoConfigMap": {
			reason: "the same", deleted: true, spec: helmv2.HelmReleaseSpec{KubeConfig: described},
			want: want{reason: helmv2.ReasonUninstallFailed, says: []string{"ConfigMap 'apps/there'", "not found", orphan}},
		},
		"DeletedOnlyNoTokens": {
			reason: "the same", deleted: true, spec: helmv2.HelmReleaseSpec{KubeConfig: described},
			objects: []client.Object{describing("generic")},
			want:    want{reason: helmv2.ReasonUninstallFailed, says: []string{"ConfigMap 'apps/there'", `serviceaccounts "tenant" not found`, orphan}},
		},
		"DeletedAccountUnknown": {
			reason: "it may be there", deleted: true, spec: helmv2.HelmReleaseSpec{ServiceAccountName: "tenant"}, err: forbidden,
			want: want{reason: helmv2.ReasonUninstallFailed, says: []string{"ServiceAccount 'apps/tenant'", "forbidden"}},
		},
		"DeletedAccount": {
			reason: "it is there", deleted: true, spec: helmv2.HelmReleaseSpec{ServiceAccountName: "tenant"}, objects: []client.Object{account},
			want: want{host: "http://local", user: "system:serviceaccount:apps:tenant"},
		},
		"DeletedAccountElsewhere": {
			reason: "who exists in another cluster cannot be seen here", deleted: true,
			spec:    helmv2.HelmReleaseSpec{ServiceAccountName: "tenant", KubeConfig: elsewhere("")},
			objects: []client.Object{kubeconfigIn("value", kubeconfig)}, want: want{host: "https://elsewhere", user: "system:serviceaccount:apps:tenant"},
		},
		"NoAccount": {
			reason: "rights may be granted to a ServiceAccount that does not exist yet", spec: helmv2.HelmReleaseSpec{ServiceAccountName: "tenant"}, err: forbidden,
			want: want{host: "http://local", user: "system:serviceaccount:apps:tenant"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(tc.objects...).WithObjects(namespaceOf("apps", tc.ending))
			if tc.err != nil {
				builder.WithInterceptorFuncs(interceptor.Funcs{
					Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
						return tc.err
					},
				})
			}
			w := &ConnectionFinder{
				Live: builder.Build(), DefaultServiceAccount: tc.usually, Workloads: cluster.WorkloadOptions{AllowServiceAccounts: true},
				Clusters: cluster.NewConnections(&rest.Config{Host: "http://local"}, cluster.Options{Now: time.Now}),
			}
			hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}, Spec: tc.spec}
			if tc.deleted {
				hr.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}
			way, unreachable, err := w.Find(t.Context(), hr)
			if unreachable != tc.want.unreachable {
				t.Errorf("%s: unreachable is %q, want %q", tc.reason, unreachable, tc.want.unreachable)
			}
			if tc.want.reason != "" {
				var blocked *release.Blocked
				if !errors.As(err, &blocked) || blocked.Reason != tc.want.reason || blocked.Terminal || !blocked.Retry.IsBackoff() {
					t.Fatalf("%s: got %+v, want an obstacle %s that is tried again", tc.reason, err, tc.want.reason)
				}
				for _, text := range tc.want.says {
					if !strings.Contains(blocked.Message+". "+blocked.Todo, text) || strings.Contains(blocked.Message, "hunter22") {
						t.Errorf("%s: says %q, want %q and no content", tc.reason, blocked.Message, text)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got want
			got.unreachable = unreachable
			if way != nil {
				config, _ := way.ToRESTConfig()
				got.host, got.user = config.Host, config.Impersonate.UserName
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFindThroughCloud: the cloud is asked in the background, and its answer is an obstacle that
// names the ConfigMap.
func TestFindThroughCloud(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "tenant", Annotations: map[string]string{"who": "role"}}}
	for _, name := range []string{"", "tenant"} {
		live := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(inCloud(name), account).Build()
		asked := make(chan *cluster.Workload, 1)
		clusters := cluster.NewConnections(&rest.Config{Host: "http://local"}, cluster.Options{
			Now: time.Now,
			CloudLookup: func(_ context.Context, w *cluster.Workload, _ cluster.TokenRequester) (cluster.Access, error) {
				asked <- w
				return cluster.Access{}, errors.New("403")
			},
		})
		enqueued := make(chan types.NamespacedName, 9)
		clusters.SetCallbacks(cluster.Callbacks{Enqueue: func(who types.NamespacedName) { enqueued <- who }})
		w := &ConnectionFinder{Live: live, Clusters: clusters, Workloads: cluster.WorkloadOptions{AllowServiceAccounts: true}}
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}, Spec: helmv2.HelmReleaseSpec{KubeConfig: described}}
		_, _, err := w.Find(t.Context(), hr)
		var blocked *release.Blocked
		if !errors.As(err, &blocked) || !blocked.Brief || len(asked) != 0 {
			t.Fatalf("got %+v", err)
		}
		go func() { _ = clusters.Start(t.Context()) }()
		if got := <-enqueued; got.Name != "web" {
			t.Errorf("enqueued is %s", got)
		}
		if got := <-asked; got.ServiceAccount.Name != name || (got.Annotations["who"] == "role") != (name != "") {
			t.Errorf("asked is for %+v", got)
		}
		_, _, err = w.Find(t.Context(), hr)
		const want = "Could not reach the cluster of the release: ConfigMap 'apps/there', key 'cluster', provider gcp: the cloud has not given access to projects/p/locations/l/clusters/c since "
		if !errors.As(err, &blocked) || blocked.Brief || blocked.Reason != helmv2.ReasonStateError || !strings.HasPrefix(blocked.Message, want) || !strings.HasSuffix(blocked.Message, ": 403") {
			t.Errorf("got %+v", err)
		}
		deleted := hr.DeepCopy()
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		if _, _, err = w.Find(t.Context(), deleted); !errors.As(err, &blocked) || blocked.Reason != helmv2.ReasonUninstallFailed {
			t.Errorf("got %+v", err)
		}
	}
}

func TestFindFresh(t *testing.T) {
	w := &ConnectionFinder{Clusters: cluster.NewConnections(&rest.Config{Host: "http://local"}, cluster.Options{Now: time.Now})}
	ways := map[*cluster.Connection]bool{}
	for _, persistent := range []bool{true, true, false, false} {
		way, _, err := w.Find(t.Context(), &helmv2.HelmRelease{Spec: helmv2.HelmReleaseSpec{PersistentClient: &persistent}})
		if err != nil {
			t.Fatal(err)
		}
		ways[way] = true
	}
	if len(ways) != 3 {
		t.Errorf("%d connections for two reconciliations that share one and two that do not", len(ways))
	}
}

// TestFindWithoutNamespace: a release is not given up because the namespace of its
// HelmRelease may not be read. The obstacle says that, too.
func TestFindWithoutNamespace(t *testing.T) {
	world := fake.NewClientBuilder().WithScheme(Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*corev1.Namespace); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, key.Name, errors.New("no"))
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	w := &ConnectionFinder{Live: world, Clusters: cluster.NewConnections(&rest.Config{Host: "http://local"}, cluster.Options{Now: time.Now})}
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}}
	hr.Spec.ServiceAccountName = "tenant"
	_, unreachable, err := w.Find(t.Context(), hr)
	var blocked *release.Blocked
	if unreachable != "" || !errors.As(err, &blocked) || blocked.Reason != helmv2.ReasonUninstallFailed {
		t.Fatalf("got %q, %v; want an obstacle", unreachable, err)
	}
	for _, text := range []string{"ServiceAccount 'apps/tenant'", "Namespace 'apps' could not be read", "forbidden"} {
		if !strings.Contains(blocked.Message, text) {
			t.Errorf("says %q, want %q", blocked.Message, text)
		}
	}
}

// reservePort binds a port of the loopback interface. It refuses connections until listen is called,
// and no other process can have it.
func reservePort(t *testing.T) (address string, listen func() net.Listener) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "port")
	t.Cleanup(func() { _ = file.Close() })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port), func() net.Listener {
		t.Helper()
		if err := unix.Listen(fd, 16); err != nil {
			t.Fatal(err)
		}
		listener, err := net.FileListener(file)
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
}

// TestFindUnreachable: a release whose cluster is not there is told so, in the same words
// each time, and is enqueued when it is there.
func TestFindUnreachable(t *testing.T) {
	address, listen := reservePort(t)
	clusters := cluster.NewConnections(&rest.Config{Host: "http://local"}, cluster.Options{Now: time.Now})
	enqueued := make(chan types.NamespacedName, 10)
	clusters.SetCallbacks(cluster.Callbacks{Enqueue: func(key types.NamespacedName) { enqueued <- key }})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- clusters.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	content := strings.Replace(kubeconfig, "https://elsewhere", "http://"+address, 1)
	w := &ConnectionFinder{Live: fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(kubeconfigIn("value", content)).Build(), Clusters: clusters}
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}, Spec: helmv2.HelmReleaseSpec{KubeConfig: elsewhere("")}}
	reconcile := func() *release.Blocked {
		t.Helper()
		way, _, err := w.Find(t.Context(), hr)
		var blocked *release.Blocked
		if err != nil && !errors.As(err, &blocked) {
			t.Fatalf("got %v, %v", way, err)
		}
		return blocked
	}
	untilEnqueued := func() {
		t.Helper()
		if who := <-enqueued; who != client.ObjectKeyFromObject(hr) {
			t.Fatalf("enqueued %s", who)
		}
	}
	// Start may not have begun: then, nothing is held back.
	for {
		if b := reconcile(); b != nil {
			if !b.Brief {
				t.Fatalf("it says something before it is known: %+v", b)
			}
			break
		}
	}
	untilEnqueued()
	first := reconcile()
	if first == nil || first.Brief || first.Reason != helmv2.ReasonStateError || !first.Retry.IsBackoff() ||
		!strings.HasPrefix(first.Message, "Could not reach the cluster of the release: http://"+address+" has not been reachable since ") ||
		!strings.Contains(first.Message, "connection refused") || strings.Contains(first.Message, "hunter22") {
		t.Fatalf("got %+v", first)
	}
	if explained := w.Explain(hr, must(clusters.For(cluster.Identity{Kubeconfig: []byte(content)})), errors.New("something")); explained.Error() != first.Message {
		t.Errorf("what a request met is explained by %v", explained)
	}
	hr.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if b := reconcile(); b == nil || b.Reason != helmv2.ReasonUninstallFailed || b.Message != first.Message {
		t.Errorf("got %+v", b)
	}

	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	listener := listen()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	untilEnqueued()
	if b := reconcile(); b != nil {
		t.Errorf("it is there, but %+v", b)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
