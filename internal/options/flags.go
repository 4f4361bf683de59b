// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// ownFlag ends the help of a flag that helm-controller does not have. docs/flags.md lists those
// flags separately.
const ownFlag = "; not a flag of helm-controller"

// Parse parses arguments, without the program name, and the environment. It returns all invalid
// values as one joined error. For --help it writes the help to out and returns flag.ErrHelp.
func Parse(args []string, out io.Writer) (*Options, error) {
	o := &Options{
		RuntimeNamespace: os.Getenv("RUNTIME_NAMESPACE"),
		SourceController: os.Getenv("SOURCE_CONTROLLER_LOCALHOST"),
		SourceWatcher:    os.Getenv("SOURCE_WATCHER_LOCALHOST"),
	}
	fs := flag.NewFlagSet("pintle", flag.ContinueOnError)
	// The flag package would print each error, and the help after it.
	fs.SetOutput(io.Discard)
	o.bind(fs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(out)
			fs.PrintDefaults()
		}
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, o.validate()
}

func (o *Options) bind(fs *flag.FlagSet) {
	o.bindServers(fs)
	o.bindWork(fs)
	o.bindLeaderElection(fs)
	o.bindWatches(fs)
	o.bindTrust(fs)
	o.bindMemory(fs)
	fs.Var(&o.Gates, "feature-gates", "comma-separated list of `Name=bool`")
	fs.StringVar(&o.LogLevel, "log-level", "info", "trace, debug, info or error")
	fs.StringVar(&o.LogEncoding, "log-encoding", "json", "json or console")
}

func (o *Options) bindServers(fs *flag.FlagSet) {
	fs.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "address of the metrics endpoint; 0 disables it")
	fs.StringVar(&o.HealthAddr, "health-addr", ":9440", "address of the health endpoint; 0 disables it")
	fs.StringVar(&o.EventsAddr, "events-addr", "", "`URL` that events are posted to, such as that of notification-controller; empty posts none")
	fs.BoolVar(&o.EnablePprof, "enable-pprof", false, "serve pprof profiles at /debug/pprof/ of the metrics endpoint"+ownFlag)
}

func (o *Options) bindWork(fs *flag.FlagSet) {
	fs.IntVar(&o.Concurrent, "concurrent", 4, "maximum number of concurrent reconciliations of HelmReleases, and of Helm actions")
	fs.Float64Var(&o.KubeAPIQPS, "kube-api-qps", 50, "queries per second to the Kubernetes API, for each release; the controller itself has no limit if API Priority and Fairness is enabled")
	fs.IntVar(&o.KubeAPIBurst, "kube-api-burst", 300, "maximum burst of queries to the Kubernetes API, for each release")
	fs.DurationVar(&o.HTTPTimeout, "http-timeout", 30*time.Second, "timeout of the download of an artifact, retries included")
	fs.IntVar(&o.HTTPRetry, "http-retry", 9, "maximum number of retries of the download of an artifact, if the server cannot be reached or fails")
	fs.Int64Var(&o.ArtifactMaxBytes, "artifact-max-bytes", 100<<20, "maximum size of an artifact, in bytes"+ownFlag)
	fs.Int64Var(&o.ArtifactCacheBytes, "artifact-cache-bytes", 64<<20,
		"size of the in-memory cache of artifacts and parsed charts, in bytes; 0 disables it"+ownFlag)
	fs.DurationVar(&o.MinRetryDelay, "min-retry-delay", 750*time.Millisecond, "delay before the first retry")
	fs.DurationVar(&o.MaxRetryDelay, "max-retry-delay", 15*time.Minute, "maximum delay before a retry")
	fs.IntVar(&o.IntervalJitter, "interval-jitter-percentage", 5, "percentage by which intervals are spread in both directions")
	fs.DurationVar(&o.RequeueDependency, "requeue-dependency", 30*time.Second,
		"interval at which dependencies that are not ready are checked; most of their changes trigger a reconciliation earlier")
	fs.StringVar(&o.SnapshotDigestAlgo, "snapshot-digest-algo", "sha256",
		"algorithm of the digests in history; only sha256 is valid, and digests of other algorithms that helm-controller recorded are verified")
	fs.Func("override-manager", "field manager whose `fields` are taken over where drift detection is enabled; can be repeated", func(name string) error {
		if name == "" {
			return errors.New("empty name")
		}
		o.OverrideManagers = append(o.OverrideManagers, name)
		return nil
	})
}

func (o *Options) bindLeaderElection(fs *flag.FlagSet) {
	fs.DurationVar(&o.GracefulShutdown, "graceful-shutdown-timeout", 600*time.Second, "time that running actions have to end at shutdown")
	fs.BoolVar(&o.LeaderElect, "enable-leader-election", false, "elect a leader, so that only one replica is active")
	fs.BoolVar(&o.LeaderElectReleaseOnEnd, "leader-election-release-on-cancel", true, "release the lease at shutdown")
	fs.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", 35*time.Second, "time after which another replica can acquire a lease that was not renewed")
	fs.DurationVar(&o.LeaseRenewDeadline, "leader-election-renew-deadline", 30*time.Second, "time for which the leader tries to renew the lease before it stops")
	fs.DurationVar(&o.LeaseRetryPeriod, "leader-election-retry-period", 5*time.Second, "time between attempts to acquire or renew the lease")
}

func (o *Options) bindWatches(fs *flag.FlagSet) {
	fs.BoolVar(&o.WatchAllNamespaces, "watch-all-namespaces", true, "watch all namespaces; if false, only RUNTIME_NAMESPACE")
	fs.StringVar(&o.WatchLabels, "watch-label-selector", "",
		"label `selector` of the HelmReleases to reconcile, such as sharding.fluxcd.io/key=shard1; empty selects all")
	fs.StringVar(&o.WatchConfigs, "watch-configs-label-selector", "reconcile.fluxcd.io/watch=Enabled",
		"label `selector` of the ConfigMaps and Secrets whose changes trigger a reconciliation; empty selects all")
}

func (o *Options) bindTrust(fs *flag.FlagSet) {
	fs.DurationVar(&o.OperationTimeout, "operation-timeout", time.Hour, "maximum time that an Operation waits, and that each of its Jobs runs"+ownFlag)
	fs.StringVar(&o.ClusterID, "cluster-id", "", "value of the label app.vworkspace.io/cluster-id of objects that are created for Operations; empty adds no label"+ownFlag)
	fs.StringVar(&o.DefaultServiceAccount, "default-service-account", "",
		"ServiceAccount to impersonate for HelmReleases that name none; if empty, Helm acts as the controller")
	fs.StringVar(&o.DefaultKubeconfigServiceAccount, "default-kubeconfig-service-account", "",
		"ServiceAccount whose tokens authenticate to other clusters, for ConfigMaps that name none; needs the feature gate ObjectLevelWorkloadIdentity")
	fs.BoolVar(&o.InsecureKubeconfigExec, "insecure-kubeconfig-exec", false, "allow kubeconfigs in Secrets to execute commands in the controller")
	fs.BoolVar(&o.InsecureKubeconfigTLS, "insecure-kubeconfig-tls", false, "allow kubeconfigs in Secrets to disable the verification of API servers")
	fs.BoolVar(&o.NoCrossNamespaceRefs, "no-cross-namespace-refs", false, "reject sources outside the namespace of the HelmRelease")
	fs.IntVar(&o.TokenCacheMaxSize, "token-cache-max-size", tokenCacheSize, "0 disables the cache of tokens for other clusters; otherwise it holds one token for each cluster")
	fs.DurationVar(&o.TokenCacheMaxDuration, "token-cache-max-duration", tokenCacheDuration, "maximum age of a cached token; at most four fifths of its lifetime")
}

func (o *Options) bindMemory(fs *flag.FlagSet) {
	fs.IntVar(&o.Memory.Threshold, "oom-watch-memory-threshold", 95,
		"percentage of the memory limit that triggers a graceful shutdown; needs the feature gate OOMWatch")
	fs.DurationVar(&o.Memory.Interval, "oom-watch-interval", 500*time.Millisecond, "time between checks of the memory usage")
	fs.StringVar(&o.Memory.MaxPath, "oom-watch-max-memory-path", "", "file with the memory limit in bytes; if empty, that of the cgroup")
	fs.StringVar(&o.Memory.CurrentPath, "oom-watch-current-memory-path", "", "file with the memory usage in bytes; if empty, that of the cgroup")
}
