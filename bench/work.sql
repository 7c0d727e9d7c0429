create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < ROWS)
insert into t select i, hex(i * 7919 % 100003), i * 0.5 from n;
create index by_b on t(b);
select count(*), sum(c), max(b) from t where b like '3%' or a % 7 = 3;
select substr(b, 1, 3) k, count(*), avg(c) from t group by k order by 3 desc limit 5;
select count(*) from t x join t y on y.a = x.a / 3 where x.b > y.b;
