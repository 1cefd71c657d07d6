-- A plain recursive query cannot sum over all rows so far, and a loop is faster than one by USING KEY.
create table control as select x, x as y from company;
create table delta as from control;
create view ultimate as
select x, y from control c
where x <> y and not exists (from control k where k.y = c.x and k.x <> k.y);
-- WHILE delta HAS ROWS
create table fresh as
with candidate as (
    select distinct delta.x, own.y from delta join own on delta.y = own.x
)
select candidate.x, candidate.y
from candidate join own on own.y = candidate.y join control held on held.x = candidate.x and held.y = own.x
where not exists (from control known where known.x = candidate.x and known.y = candidate.y)
group by candidate.x, candidate.y
having sum(own.k) > 2048;
drop table delta;
alter table fresh rename to delta;
insert into control from delta;
